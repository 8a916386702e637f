// The steps of a job, as its ranks report them (docs/exec.md, "Steps of a job").
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/record/metrics.h"

namespace thinpipe {

/// The environment variable with the folder for the ranks' reports. Rank 3 appends lines of JSON to
/// the file `3` in this folder.
inline constexpr const char* kStepsVariable = "THINPIPE_STEPS";

/// The reports of all ranks together.
struct JobSteps {
  std::string compressor = "none";  ///< as a rank named it
  std::string collective;           ///< likewise; "" unless reported
  /// Metrics that ranks may report: times of the slowest rank, means over the ranks of all others.
  Metrics metrics;
  std::vector<std::string> errors;  ///< lines that no rank should have written, with file and line
};

/// Reads the reports of all ranks. Ranks with different numbers of steps count up to the smallest
/// number. A rank without a file is ignored.
/// @param warmup  steps at the beginning that are left out
JobSteps read_steps(const std::filesystem::path& folder, int ranks, std::size_t warmup);

}  // namespace thinpipe
