// Summaries of trainings: the seeds of one compressor on one link together, and their table for a
// terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

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

}  // namespace thinpipe
