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
  bool squares = false;       ///< every step carries second moments as well
  nlohmann::json provenance;  ///< object: how the trace came to be; may be empty
};

/// Step files are written under a temporary name and renamed into place, trace.json last of all,
/// so that a folder that opens is complete. A writer destroyed before finish() removes what it
/// wrote; one that is killed leaves step files (and perhaps one .thinpipe-*.partial) without
/// trace.json, which does not open and says so. Nothing is flushed to the device (fsync): a trace
/// can be captured again, and verify() tells whether it survived a power cut.
class TraceWriter {
 public:
  /// Creates the folder (and its parents).
  /// @throws InputError when it exists and holds anything, or the description is inconsistent.
  TraceWriter(std::filesystem::path folder, TraceDescription description);
  ~TraceWriter();
  TraceWriter(TraceWriter&&) noexcept;

  /// One worker's step: one span a tensor, in the description's order. All ranks of a step come
  /// before the next step; within a step the ranks come in order.
  /// @param squares empty, or one span a tensor where the description says so.
  /// @throws SystemError when the disk is full or refuses; the trace is then lost.
  void add(std::uint64_t training_step, std::size_t rank, const TraceStepTimes& times,
           std::span<const std::span<const float>> gradients,
           std::span<const std::span<const float>> squares = {});

  /// Writes trace.json. `ready_order` in the description's tensors is used when it is a
  /// permutation; otherwise the order of the first step's ready times on rank 0 (ties: the later
  /// tensor first, as a backward pass goes).
  /// @throws InputError when no step was added or the last one lacks ranks; SystemError as above.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace thinpipe
