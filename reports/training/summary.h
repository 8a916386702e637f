// The records of a training brought together (the seeds of one compressor on one link), and told on
// a terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/record/record.h"
#include "reports/statistics/statistics.h"

namespace thinpipe {

/// Points that differ in their seed only. Only `ok` ones count; where there are none, the `invalid`
/// ones are shown and nothing is concluded from them.
struct TrainedGroup {
  std::string compressor, link, pattern, feed, device, topology, stragglers;
  std::string label;  ///< of compressor and way, and no more of them than tells it from others
  double rate = 0;
  int ranks = 1;
  double time_scale = 1;
  std::optional<Baseline> baseline;
  int ok = 0, invalid = 0, failed = 0;
  std::vector<const Point*> used;

  /// Over the used points, of the metric's one value each; nothing where none has it.
  std::optional<Estimate> mean(const MetricType& metric) const;
  /// How many of the used points have the metric.
  std::size_t count(const MetricType& metric) const;
  /// Whether the point is one of its seeds, used or not.
  bool holds(const Point& point) const;
  bool trusted() const { return ok > 0; }
  /// Everything but what is sent and how is the same.
  bool comparable(const TrainedGroup& other) const;
};

struct TrainingSummary {
  std::string figure;  ///< `accuracy` or `perplexity`
  std::string target;  ///< "acc=0.9"; "" for none
  /// By workers and link rate; `none` and `bf16` first, then as recorded.
  std::vector<TrainedGroup> groups;

  /// The metric of the time that counts: to the target, else of all steps.
  const MetricType& time_metric() const {
    return target.empty() ? "train_seconds"_metric : "target_seconds"_metric;
  }
  /// The metric of the quality that is trained for.
  const MetricType& final_metric() const {
    return figure == "accuracy" ? "final_accuracy"_metric : "final_perplexity"_metric;
  }
  /// The baseline that took least time by time_metric(), of that kind if one is given; null without
  /// any that can be compared with the group.
  const TrainedGroup* baseline(const TrainedGroup& group, std::optional<Baseline> kind = {}) const;
  /// How many times sooner than that baseline the group was; nothing without one, where a seed did
  /// not get there and where nothing is trusted.
  std::optional<double> gain(const TrainedGroup& group, Baseline kind) const;
  bool has_baseline(Baseline kind) const;
};

/// Points into `records`, which must outlive it. @throws InputError for records of another kind
TrainingSummary summarize_training(const Records& records);

/// A line for each compressor on each link, at most 80 columns wide.
std::string training_table(const TrainingSummary& summary);

/// At most three sentences: who was fastest, what it cost in quality, what went wrong.
std::vector<std::string> training_findings(const TrainingSummary& summary);

/// Both, of the records of a training. @throws InputError for records of another kind
std::string training_text(const Records& records);

}  // namespace thinpipe
