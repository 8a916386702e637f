// Statistics of gradients, put together by tensor and by step, and what they say.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/gradients/records.h"

namespace thinpipe {

/// Means of what was found, over the finite values; NaN where there is none.
struct StatsMeans {
  std::uint64_t step = 0;  ///< of a step's; 0 of all steps'
  double p = 0, r_squared = 0, zero_share = 0, kurtosis = 0, mean_magnitude = 0, deviation = 0;
  std::vector<double> best_k_errors;  ///< in the order of StatsRecords::ratios
  std::array<double, kFitNames.size()> distances = {};

  /// The fit at the least distance, an index of kFitNames; kFitNames.size() without any.
  std::size_t best_fit() const;
};

/// The gradients of a tensor without, or with, error feedback.
struct StatsSeries {
  std::vector<StatsMeans> steps;  ///< a step's means over the ranks, in ascending order
  StatsMeans all;                 ///< over all of them
  /// The first analysed rank's gradients in the first and the last step; null without points.
  const StatsGradient* first = nullptr;
  const StatsGradient* last = nullptr;
  bool empty() const { return steps.empty(); }
};

struct StatsAlikeMeans {
  std::uint64_t step = 0;
  double cosine = 0, overlap = 0;
};

/// How alike a tensor's gradients are.
struct StatsAlike {
  std::vector<StatsAlikeMeans> steps;  ///< a step's means over ranks or pairs of them
  StatsAlikeMeans all;
};

/// A tensor, or the whole model.
struct StatsUnit {
  std::string tensor;
  std::string title;  ///< "whole model", or the tensor's name
  double elements = 0;
  StatsSeries plain, feedback;
  StatsAlike workers, steps;
};

struct StatsSummary {
  const StatsRecords* records = nullptr;
  std::vector<StatsUnit> units;  ///< in the order of the records, the whole model first

  /// The whole model, or the largest tensor where it was not looked at. There is at least one.
  const StatsUnit& main() const { return units.front(); }
};

/// Points into `records`, which must outlive it.
/// @throws InputError when there is no gradient in them.
StatsSummary summarize(const StatsRecords& records);

/// "lenet5, whole model (431,080 elements), 10 steps from 150 to 159".
std::string stats_subject(const StatsSummary& summary);

/// Which distribution is nearest without and with error feedback; whether the gradient counts as
/// compressible and what its largest elements hold; the tensor that is farthest from the fits; how
/// alike workers and steps are; what is to be doubted. Plain text: not escaped for any markup.
std::vector<std::string> stats_findings(const StatsSummary& summary);

/// How the figures were computed, in sentences.
std::vector<std::string> stats_method_notes(const StatsSummary& summary);

}  // namespace thinpipe
