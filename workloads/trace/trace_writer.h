// Writes a trace folder; docs/trace-format.md is normative.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Description of a trace, without its steps.
struct TraceDescription {
  std::string model;                 ///< e.g. "lenet5"
  std::string origin;                ///< "training", "synthetic" or "imported"
  std::vector<TraceTensor> tensors;  ///< name and shape; `elements` is computed from the shape
  std::size_t ranks = 0;
  bool squares = false;       ///< every step has second moments as well
  nlohmann::json provenance;  ///< object: how the trace was made; may be empty
};

/// Writes step files under temporary names and renames them into place. trace.json comes last, so
/// every folder that can be opened as a trace is complete. A writer that is destroyed before
/// finish() removes its files. A killed process leaves step files (and perhaps one
/// .thinpipe-*.partial) without trace.json; opening such a folder is an error that names the cause.
/// Nothing is flushed to the device (fsync), because a trace can be captured again, and verify()
/// detects damage by a power cut.
class TraceWriter {
 public:
  /// Creates the folder and its parents.
  /// @throws InputError if the folder is not empty or the description is inconsistent.
  TraceWriter(std::filesystem::path folder, TraceDescription description);
  ~TraceWriter();
  TraceWriter(TraceWriter&&) noexcept;

  /// Adds one worker's step: one span a tensor, in the description's order. All ranks of a step
  /// come before the next step; within a step the ranks come in order.
  /// @param squares one span a tensor if the description has squares, else empty.
  /// @throws SystemError if writing fails, for example on a full disk; the trace is then lost.
  void add(std::uint64_t training_step, std::size_t rank, const TraceStepTimes& times,
           std::span<const std::span<const float>> gradients,
           std::span<const std::span<const float>> squares = {});

  /// Writes trace.json. `ready_order` comes from the description's tensors if they hold a
  /// permutation. Otherwise it is the order of the first step's ready times on rank 0, and equal
  /// times put the later tensor first, as in a backward pass.
  /// @throws InputError if no step was added or the last one lacks ranks; SystemError as above.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thinpipe
