// The typed view of the records of `thinpipe trace stats`; docs/records.md is their contract.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/input_file.h"
#include "reports/record/record.h"

namespace thinpipe {

/// The file's name inside the folder of `trace stats --out`.
inline constexpr const char* kStatsFileName = "trace-stats.jsonl";

/// The fitted distributions, as records name them; the last one is the normal distribution.
inline constexpr std::array<const char*, 4> kFitNames = {"exponential", "gamma", "gpareto",
                                                         "normal"};

/// Points of SIDCo's figures 2, 7 and 8; magnitudes are over the gradient's norm.
struct StatsPoints {
  std::vector<double> places, magnitudes, errors;  ///< fig. 7: j (or k), g~_j, sigma_k
  std::vector<double> x, empirical;                ///< figs. 2 and 8: the distribution function
  std::array<std::vector<double>, kFitNames.size()> fitted;  ///< at x, of each fit
};

/// One gradient. Null becomes NaN.
struct StatsGradient {
  std::string tensor;  ///< "*" is the whole model
  std::uint64_t step = 0, rank = 0;
  bool feedback = false;
  double elements = 0, zeros = 0, non_finite = 0;
  double deviation = 0, kurtosis = 0, l2 = 0, mean_magnitude = 0;
  double p = 0, r_squared = 0;
  std::vector<double> best_k_errors;                    ///< in the order of StatsRecords::ratios
  std::array<double, kFitNames.size()> distances = {};  ///< Kolmogorov-Smirnov
  std::optional<StatsPoints> points;
};

/// The similarity of two gradients of one tensor. The gradients are those of two adjacent ranks in
/// the same step, or of one rank in two steps.
struct StatsSimilarity {
  std::string tensor;
  bool between_workers = false;
  std::uint64_t step = 0;
  double cosine = 0, overlap = 0;
};

struct StatsRecords {
  Records origin;  ///< file and header; no points
  std::vector<double> ratios;
  std::optional<double> feedback_ratio;  ///< nothing without error feedback
  double overlap_ratio = 0;
  std::vector<StatsGradient> gradients;
  std::vector<StatsSimilarity> similarities;
};

/// Reads the statistics in a file, or in a folder without records of a run. Returns nothing where
/// the first record is of another kind or there is no record. @throws InputError naming file, line
/// and field of broken records
std::optional<StatsRecords> find_trace_stats(const std::filesystem::path& folder_or_file);

/// Reads the same from text in memory, whose first line is a header of that kind.
StatsRecords parse_trace_stats(InputLines lines, const std::filesystem::path& name);

}  // namespace thinpipe
