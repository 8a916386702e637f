// Gradient statistics by tensor and by step, their findings, figures and report.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/gradients/records.h"
#include "reports/page/page.h"

namespace thinpipe {

/// Means over the finite values; NaN where there are none.
struct StatsMeans {
  std::uint64_t step = 0;  ///< 0 in the means over all steps
  double p = 0, r_squared = 0, zero_share = 0, kurtosis = 0, mean_magnitude = 0, deviation = 0;
  std::vector<double> best_k_errors;  ///< in the order of StatsRecords::ratios
  std::array<double, kFitNames.size()> distances = {};

  /// Returns the index in kFitNames of the least distance; kFitNames.size() without any fit.
  std::size_t best_fit() const;
};

/// The gradients of a tensor without, or with, error feedback.
struct StatsSeries {
  std::vector<StatsMeans> steps;  ///< means over the ranks, in ascending order of steps
  StatsMeans all;                 ///< means over all steps and ranks
  /// The gradients of the first analysed rank in the first and the last step; null without points.
  const StatsGradient* first = nullptr;
  const StatsGradient* last = nullptr;
  bool empty() const { return steps.empty(); }
};

struct StatsAlikeMeans {
  std::uint64_t step = 0;
  double cosine = 0, overlap = 0;
};

/// The similarity of a tensor's gradients.
struct StatsAlike {
  std::vector<StatsAlikeMeans> steps;  ///< means over ranks or pairs of ranks
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

  /// Returns the whole model, or the largest tensor where the model was not analysed as a whole.
  const StatsUnit& main() const { return units.front(); }
};

/// Returns a summary that points into `records`.
/// @throws InputError when the records have no gradient without error feedback
StatsSummary summarize(const StatsRecords& records);

/// Returns "lenet5, whole model (431080 elements), 10 training steps, 150 to 159".
std::string stats_subject(const StatsSummary& summary);

/// Returns the findings as sentences: the best-fitting distribution without and with error
/// feedback; decay and best-k errors; the tensor with the worst fit; the similarity of workers and
/// of steps; warnings. The sentences are plain text, not escaped for any markup.
std::vector<std::string> stats_findings(const StatsSummary& summary);

/// Describes in sentences how the figures were computed.
std::vector<std::string> stats_method_notes(const StatsSummary& summary);

/// Returns the figures for which the summary has data: SIDCo's figures 2, 7 and 8, and curves over
/// the steps. The first figures show the whole model (or the largest tensor): densities and tails
/// with their fits, decay, best-k error, distances of the fits, similarity. The last figures show
/// the densities of the largest tensors.
/// @throws RunError without gnuplot
std::vector<Figure> stats_figures(const StatsSummary& summary);

/// Returns the report. All text from the records is escaped.
/// @throws InputError without gradients; RunError without gnuplot (HTML)
std::string render_stats(const StatsRecords& records, ReportFormat format);

}  // namespace thinpipe
