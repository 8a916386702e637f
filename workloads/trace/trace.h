// A gradient trace: a folder of recorded gradients, mapped into memory rather than read whole.
// docs/trace-format.md is normative.
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
  std::vector<double> ready;  ///< s per tensor, in trace order, since the backward pass began
  double loss = 0;            ///< mean over its mini-batch; NaN if not finite or not recorded
  double compute() const { return forward + backward; }
};

/// Generates gradients on request, for traces without gradient files.
class GradientSource {
 public:
  virtual ~GradientSource() = default;

  /// Returns one tensor's gradient: finite values, the same at every call. The span is valid until
  /// the same rank and tensor are requested for another step, or the rank is released. Several
  /// threads may call this at once for different ranks or tensors.
  virtual std::span<const float> gradient(std::size_t rank, std::size_t step,
                                          std::size_t tensor) = 0;
  /// Returns the second moments (see Trace::squares), valid and thread-safe as gradient(); empty if
  /// the source has none.
  virtual std::span<const float> squares(std::size_t rank, std::size_t step, std::size_t tensor);
  virtual const TraceStepTimes& times(std::size_t rank, std::size_t step) const = 0;
  /// Frees the memory of a rank's gradients and invalidates their spans.
  virtual void release(std::size_t rank) = 0;
};

/// Description of a trace whose gradients are generated.
struct GeneratedTrace {
  std::string text;      ///< text that commands accept in place of a trace folder's path
  std::string identity;  ///< identifies the trace in records
  std::string model;
  std::vector<TraceTensor> tensors;
  std::size_t ranks = 0;
  std::size_t steps = 0;
  std::size_t bytes_per_rank = 0;  ///< memory that the source keeps for each requested rank
  std::shared_ptr<const nlohmann::json> metadata;  ///< in the form of trace.json
  std::unique_ptr<GradientSource> source;
};

/// A trace folder, read-only, or a trace whose gradients are generated. Opening a folder checks
/// every offset and length; only verify() checks hashes. A folder's gradients may contain NaN and
/// infinities, which the caller has to handle. In a folder, indices out of range throw
/// std::out_of_range.
class Trace {
 public:
  /// Opens a folder.
  /// @throws InputError naming file and field, if one is missing, truncated or inconsistent.
  explicit Trace(const std::filesystem::path& folder);
  /// Opens a trace whose gradients are generated on request. folder() then returns
  /// GeneratedTrace::text.
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

  /// Returns the element type of the files. gradient() returns FP32 for every type.
  GradientType gradient_type() const;
  /// Returns false if the capture was interrupted or lost a rank. The recorded steps are valid, but
  /// steps are missing; missing() returns the reasons, one sentence each.
  bool complete() const;
  const std::vector<std::string>& missing() const;
  /// Returns true if the second moments are sums over micro-batches, which is the case if a layer
  /// of the model mixes samples. Returns false if the second moments are sums over samples.
  bool squares_of_micro_batches() const;

  /// Returns true if a source generates the gradients, which are then finite.
  bool generated() const;
  /// Returns the bytes that a generated trace keeps for each requested rank; 0 for a folder.
  std::size_t generated_bytes_per_rank() const;
  /// Frees a generated trace's memory for a rank and invalidates the rank's spans. Does nothing for
  /// a folder.
  void release(std::size_t rank) const;

  /// Returns one tensor's gradient. In an FP32 trace the span points into the mapped file. A 16-bit
  /// trace widens the tensor at the first request and keeps the result in memory. In a generated
  /// trace the span is valid as in GradientSource::gradient().
  std::span<const float> gradient(std::size_t rank, std::size_t step, std::size_t tensor) const;
  /// Returns the second moment of each element; empty if the trace has none. A second moment is the
  /// sum, over the samples of the mini-batch B, of (gradient of the sample / |B|)^2.
  std::span<const float> squares(std::size_t rank, std::size_t step, std::size_t tensor) const;

  /// Returns the text that identifies the trace in records. For a folder, it is "sha256:" and the
  /// SHA-256 of trace.json, which contains the hash of every other file.
  std::string identity() const;

  /// Returns the parsed trace.json.
  const nlohmann::json& metadata() const;

  /// Recomputes the SHA-256 of every file of a folder.
  /// @throws InputError naming the first file whose hash differs from that in trace.json.
  void verify() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thinpipe
