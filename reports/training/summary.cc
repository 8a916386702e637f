#include "reports/training/summary.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "reports/statistics/confidence.h"
#include "reports/summary/label.h"

namespace thinpipe {

namespace {

TrainedGroup group_of(const Point& point) {
  const Axes& axes = point.axes;
  TrainedGroup group;
  group.compressor = axes.compressor;
  group.link = axes.link;
  group.pattern = axes.pattern;
  group.feed = axes.feed;
  group.device = axes.device;
  group.topology = axes.topology;
  group.stragglers = axes.stragglers;
  group.rate = axes.rate;
  group.ranks = axes.ranks;
  group.time_scale = axes.time_scale;
  group.baseline = axes.baseline();
  return group;
}

std::string feed_and_device(const TrainedGroup& group) {
  if (group.device == "cpu") return group.feed;
  return group.feed + (group.feed.empty() ? "" : ";") + "device=" + group.device;
}

// Short names: "topk ratio=0.01", "topk ratio=0.01, local_steps=8".
void label(std::vector<TrainedGroup>& groups) {
  std::vector<std::string> compressors;
  for (const TrainedGroup& group : groups)
    if (std::find(compressors.begin(), compressors.end(), group.compressor) == compressors.end())
      compressors.push_back(group.compressor);
  const std::vector<std::string> names = short_labels(compressors);
  for (std::size_t i = 0; i < compressors.size(); ++i) {
    std::vector<Way> ways;
    const auto place = [&](const TrainedGroup& group) {
      return std::find_if(ways.begin(), ways.end(), [&](const Way& way) {
        return way.pattern == group.pattern && way.feed == feed_and_device(group);
      });
    };
    for (const TrainedGroup& group : groups)
      if (group.compressor == compressors[i] && place(group) == ways.end())
        ways.push_back({group.pattern, feed_and_device(group)});
    const std::vector<std::string> labels = way_labels(ways);
    for (TrainedGroup& group : groups) {
      if (group.compressor != compressors[i]) continue;
      const std::string& way = labels[static_cast<std::size_t>(place(group) - ways.begin())];
      group.label = names[i] + (way.empty() ? "" : ", " + way);
    }
  }
}

void add_training(const Point& point, TrainedGroup& group) {
  (point.status == Status::kOk        ? group.ok
   : point.status == Status::kInvalid ? group.invalid
                                      : group.failed) += 1;
}

}  // namespace

bool TrainedGroup::holds(const Point& point) const {
  const Axes& axes = point.axes;
  return compressor == axes.compressor && link == axes.link && pattern == axes.pattern &&
         feed == axes.feed && device == axes.device && topology == axes.topology &&
         stragglers == axes.stragglers && ranks == axes.ranks && time_scale == axes.time_scale;
}

std::optional<Estimate> TrainedGroup::mean(const std::string& metric) const {
  std::vector<double> values;
  for (const Point* point : used)
    for (const double value : point->samples(metric)) values.push_back(value);
  if (values.empty()) return std::nullopt;
  return mean_of_samples(values);
}

std::size_t TrainedGroup::count(const std::string& metric) const {
  return static_cast<std::size_t>(std::count_if(
      used.begin(), used.end(), [&](const Point* one) { return !one->samples(metric).empty(); }));
}

bool TrainedGroup::comparable(const TrainedGroup& other) const {
  return link == other.link && topology == other.topology && stragglers == other.stragglers &&
         ranks == other.ranks && time_scale == other.time_scale;
}

const TrainedGroup* TrainingSummary::baseline(const TrainedGroup& group,
                                              std::optional<Baseline> kind) const {
  const TrainedGroup* found = nullptr;
  for (const TrainedGroup& one : groups) {
    if (!one.baseline || (kind && one.baseline != kind)) continue;
    if (!one.trusted() || !one.comparable(group)) continue;
    const auto time = one.mean(time_metric());
    if (time && (found == nullptr || time->value < found->mean(time_metric())->value)) found = &one;
  }
  return found;
}

bool TrainingSummary::has_baseline(Baseline kind) const {
  return std::ranges::count(groups, std::optional(kind), &TrainedGroup::baseline) > 0;
}

std::optional<double> TrainingSummary::gain(const TrainedGroup& group, Baseline kind) const {
  const TrainedGroup* dense = baseline(group, kind);
  const auto time = group.mean(time_metric());
  if (dense == nullptr || !time || !group.trusted() ||
      group.count(time_metric()) < group.used.size() || time->value <= 0)
    return std::nullopt;
  return dense->mean(time_metric())->value / time->value;
}

TrainingSummary summarize_training(const Records& records) {
  if (records.kind() != kTrainKind)
    throw InputError(records.file.string() +
                     ": expected the records of a training, found those of '" + records.kind() +
                     "'");
  TrainingSummary summary;
  for (const Header& header : records.headers) {
    summary.figure = header.training.value("figure", "accuracy");
    if (const auto target = header.training.find("target");
        target != header.training.end() && target->is_string())
      summary.target = *target;
  }
  for (const Point& point : records.points) {
    auto group = std::find_if(summary.groups.begin(), summary.groups.end(),
                              [&](const TrainedGroup& one) { return one.holds(point); });
    if (group == summary.groups.end())
      group = summary.groups.insert(summary.groups.end(), group_of(point));
    add_training(point, *group);
  }
  for (TrainedGroup& group : summary.groups)
    for (const Point& point : records.points)
      if (group.holds(point) && point.status == (group.trusted() ? Status::kOk : Status::kInvalid))
        group.used.push_back(&point);
  label(summary.groups);
  std::stable_sort(summary.groups.begin(), summary.groups.end(),
                   [](const TrainedGroup& a, const TrainedGroup& b) {
                     const auto place = [](const TrainedGroup& one) {
                       return std::tuple(one.ranks, one.rate, one.link, !one.baseline, one.baseline,
                                         one.compressor);
                     };
                     return place(a) < place(b);
                   });
  return summary;
}

}  // namespace thinpipe
