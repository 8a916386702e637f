// A gradient trace on disk, opened by mmap and never copied whole. docs/trace-format.md is
// normative.
//
// Example:
//
//   double sum_of_gradients(const std::string& folder) {
//     const thinpipe::Trace trace(folder);
//     double sum = 0;
//     for (std::size_t tensor = 0; tensor < trace.tensors().size(); ++tensor)
//       for (const float value : trace.gradient(/*rank=*/0, /*step=*/0, tensor)) sum += value;
//     return sum;
//   }
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "workloads/trace/gradient_values.h"

namespace thinpipe {

/// One parameter tensor of the traced model.
struct TraceTensor {
  std::string name;                 ///< unique within the trace
  std::vector<std::int64_t> shape;  ///< row-major
  std::size_t elements = 0;         ///< product of shape
  std::size_t ready_order = 0;      ///< 0 is the first gradient ready in the backward pass
};

/// Times of one worker in one step, in seconds, as measured when the trace was captured.
struct TraceStepTimes {
  double forward = 0;
  double backward = 0;
  std::vector<double> ready;  ///< per tensor (trace order): since the backward pass began
  double loss = 0;            ///< mean over this worker's mini-batch; NaN where it was not finite
  double compute() const { return forward + backward; }
};

/// Makes the gradients of a trace of which no file holds any, when they are asked for.
class GradientSource {
 public:
  virtual ~GradientSource() = default;

  /// Finite values, the same whenever they are asked for. The span holds until another step of the
  /// same rank and tensor is asked for, or the rank is released. Safe to call from several threads
  /// for different ranks or tensors.
  virtual std::span<const float> gradient(std::size_t rank, std::size_t step,
                                          std::size_t tensor) = 0;
  /// Second moments likewise, or empty where there are none.
  virtual std::span<const float> squares(std::size_t rank, std::size_t step, std::size_t tensor);
  virtual const TraceStepTimes& times(std::size_t rank, std::size_t step) const = 0;
  /// Gives back the memory of a rank's gradients.
  virtual void release(std::size_t rank) = 0;
};

/// A trace whose gradients a source makes.
struct GeneratedTrace {
  std::string text;      ///< stands for the trace where a folder's path could
  std::string identity;  ///< names what it holds in records
  std::string model;
  std::vector<TraceTensor> tensors;
  std::size_t ranks = 0;
  std::size_t steps = 0;
  std::size_t bytes_per_rank = 0;  ///< that the source keeps of every rank asked for
  std::shared_ptr<const nlohmann::json> metadata;  ///< as trace.json has it
  std::unique_ptr<GradientSource> source;
};

/// A trace folder, read-only. Every offset and length was checked when it was opened; hashes are
/// checked by verify() alone. Gradients may hold values that are not finite: whoever replays a
/// trace decides what becomes of them. Indices out of range throw std::out_of_range.
class Trace {
 public:
  /// @throws InputError naming file and field for anything missing, truncated or inconsistent.
  explicit Trace(const std::filesystem::path& folder);
  /// Gradients that are made when they are asked for; folder() is then the text that says how.
  explicit Trace(GeneratedTrace generated);
  ~Trace();
  Trace(Trace&&) noexcept;
  Trace& operator=(Trace&&) noexcept;

  const std::filesystem::path& folder() const;
  const std::string& model() const;
  const std::vector<TraceTensor>& tensors() const;
  std::size_t elements() const;  ///< sum over tensors
  std::size_t ranks() const;
  std::size_t steps() const;                            ///< recorded steps
  std::uint64_t training_step(std::size_t step) const;  ///< step number within the training run
  const TraceStepTimes& times(std::size_t rank, std::size_t step) const;

  /// How the files hold gradients; gradient() gives FP32 whatever this is.
  GradientType gradient_type() const;
  /// False where the capture was broken off or a rank was lost: what is there is sound, but it is
  /// not all that was meant to be recorded. missing() says why, a sentence each.
  bool complete() const;
  const std::vector<std::string>& missing() const;
  /// The second moments' sum runs over micro-batches where a layer mixes samples, not over samples.
  bool squares_of_micro_batches() const;

  /// True where a source makes the gradients: they are finite, and gradient() works for them.
  bool generated() const;
  /// Memory that a generated trace takes for every rank that is asked for; else 0.
  std::size_t generated_bytes_per_rank() const;
  /// Gives that back: spans of the rank's gradients end. Nothing where files hold them.
  void release(std::size_t rank) const;

  /// The gradient of one tensor: points into the mapped file where that holds FP32. In a 16-bit
  /// trace it is widened when first asked for, and then kept in memory. In a generated trace it
  /// holds until another step of the same rank and tensor is asked for.
  std::span<const float> gradient(std::size_t rank, std::size_t step, std::size_t tensor) const;
  /// Second moments q of the same shape, or empty where the trace has none.
  std::span<const float> squares(std::size_t rank, std::size_t step, std::size_t tensor) const;

  /// "sha256:" and the SHA-256 of trace.json's bytes, which hold every other file's hash: names
  /// this trace in records.
  std::string identity() const;

  /// trace.json as parsed.
  const nlohmann::json& metadata() const;

  /// Recomputes every file's SHA-256. @throws InputError naming the first file that differs.
  void verify() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thinpipe
