// Summaries of trainings: the seeds of one compressor on one link together, their table for a
// terminal, their figures and their report.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/page/page.h"
#include "reports/record/record.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

/// Points that differ in their seed only. Only `ok` points count. Where there are none, the
/// `invalid` ones are shown, and no conclusion rests on them.
struct TrainedGroup {
  Axes axes;  ///< of the first point
  std::optional<Baseline> baseline = {};
  std::string label = {};  ///< compressor, collective and bucketing, where groups differ in them
  int ok = 0, invalid = 0, failed = 0;
  std::size_t diverged = 0;  ///< of the failed ones: trainings that ended without a result
  std::vector<const Point*> used = {};

  /// Returns the mean over the used points, which have one value each; nothing where none has one.
  std::optional<Estimate> mean(const MetricType& metric) const;
  /// Returns how many of the used points have the metric.
  std::size_t count(const MetricType& metric) const;
  /// Returns the number of seeds with an outcome: the used points, and the diverged trainings.
  std::size_t seeds() const { return used.size() + diverged; }
  /// Returns whether all seeds() have the metric; diverged trainings have none.
  bool is_complete(const MetricType& metric) const { return count(metric) == seeds(); }
  /// Returns whether the point is one of the group's seeds, used or not.
  bool holds(const Point& point) const;
  bool trusted() const { return ok > 0; }
  /// Returns whether link, topology, stragglers, ranks and time scale are equal.
  bool comparable(const TrainedGroup& other) const;
};

struct TrainingSummary {
  std::string figure;  ///< `accuracy` or `perplexity`
  std::string target;  ///< "acc=0.9"; "" for none
  /// By workers and link rate; `none` and `bf16` first, then as recorded.
  std::vector<TrainedGroup> groups;

  /// Returns the metric of the time to the target, or of all steps without a target.
  const MetricType& time_metric() const {
    return target.empty() ? "train_seconds"_metric : "target_seconds"_metric;
  }
  /// Returns the metric of the final accuracy or perplexity.
  const MetricType& final_metric() const {
    return figure == "accuracy" ? "final_accuracy"_metric : "final_perplexity"_metric;
  }
  /// Returns the comparable baseline with the least time_metric(), of `kind` if given; null without
  /// any.
  const TrainedGroup* baseline(const TrainedGroup& group, std::optional<Baseline> kind = {}) const;
  /// Returns the baseline's time_metric() divided by the group's; the baseline is that of
  /// baseline(group, kind). Returns nothing if there is no baseline, if a seed diverged or missed
  /// the target, or if the group is not trusted.
  std::optional<double> gain(const TrainedGroup& group, Baseline kind) const;
  bool has_baseline(Baseline kind) const;
};

/// Returns a summary that points into `records`. @throws InputError for records of another kind
TrainingSummary summarize_training(const Records& records);

/// Returns a line for each compressor on each link, at most 80 columns wide.
std::string training_table(const TrainingSummary& summary);

/// Returns the fastest training and its quality, which trainings diverged, and how many failed or
/// are invalid.
std::vector<std::string> training_findings(const TrainingSummary& summary);

/// Returns table and findings. @throws InputError for records of another kind
std::string training_text(const Records& records);

// Figures and the report.

/// Returns the curve of a training, averaged over its used seeds. Each evaluation in
/// `training.evaluations` gives a point: the mean over seeds of the array `x` (`steps`, `bytes` or
/// `seconds`), and the mean of the array `y`, which `format` gives in tooltips. With kMinForMean or
/// more seeds, the point has the 95 % interval of y's mean. A seed with fewer evaluations counts
/// only in the evaluations that it has.
std::vector<ChartPoint> evaluation_points(const TrainedGroup& group, const std::string& x,
                                          const std::string& y, std::string (*format)(double));

inline constexpr std::size_t kDrawnSteps = 100;

/// Returns the curve of payload bits per element by step, averaged over the seeds. Consecutive
/// steps are averaged too, so that at most kDrawnSteps points remain. A dense payload has 32 bits
/// per element.
std::vector<ChartPoint> bits_points(const TrainedGroup& group);

struct StyledGroup {
  const TrainedGroup* group;
  std::size_t style;  ///< 0 for `none`, else one per label
};

/// Comparable trainings: one link, one number of workers.
struct TrainingSection {
  std::string title;  ///< plain text
  std::vector<StyledGroup> groups;
};

std::vector<TrainingSection> training_sections(const TrainingSummary& summary);

/// Returns the figures that have data to draw: quality and loss on held-out data over steps, bytes
/// and seconds; time and bytes to the target; final quality over the seeds; time over final
/// held-out loss; and bits per element over steps, as figure 9 of the 3LC paper. `id` is the prefix
/// of the figures' ids. @throws RunError without gnuplot
std::vector<Figure> training_figures(const TrainingSummary& summary, const TrainingSection& section,
                                     const std::string& id);

/// Returns the report. All text from the records is escaped.
/// @throws InputError without a point, or for records of another kind; RunError without gnuplot
/// (HTML)
std::string render_training(const Records& records, ReportFormat format);

}  // namespace thinpipe
