#include "reports/gate/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "reports/statistics/quantile.h"

namespace thinpipe {
namespace {

constexpr std::string_view kTarget = "target:";

std::vector<double> last_samples(const MetricSeries& series) {
  for (auto launch = series.launches.rbegin(); launch != series.launches.rend(); ++launch)
    if (!launch->empty()) return *launch;
  return {};
}

// Every launch of one build must give the same.
bool varies(const MetricSeries& series) {
  const std::vector<double> last = last_samples(series);
  return std::any_of(
      series.launches.begin(), series.launches.end(),
      [&](const std::vector<double>& samples) { return !samples.empty() && samples != last; });
}

// Positive where `after` is worse. A share of what was before, of the target where there is one, or
// the difference itself where that is 0.
double worsening(const std::string& better, double before, double after) {
  const auto over = [](double difference, double whole) {
    return whole != 0 ? difference / std::abs(whole) : difference;
  };
  if (better.starts_with(kTarget)) {
    const double target = std::strtod(better.c_str() + kTarget.size(), nullptr);
    return over(std::abs(after - target) - std::abs(before - target), target);
  }
  return over(better == "higher" ? before - after : after - before, before);
}

MetricComparison start(const SeriesName& name, const MetricSeries& before,
                       const MetricSeries& after) {
  return {.name = name,
          .unit = after.unit,
          .better = after.better,
          .kind = after.kind,
          .samples = std::min(before.launches.size(), after.launches.size())};
}

int rank_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kWorse:
      return 0;
    case Verdict::kUnclear:
      return 1;
    case Verdict::kBetter:
      return 2;
    case Verdict::kSame:
      break;
  }
  return 3;
}

std::vector<double> middle_of(const std::vector<double>& samples) {
  return samples.empty() ? samples : std::vector<double>{median(samples)};
}

std::vector<double> logarithms_of_ratios(const std::vector<double>& above,
                                         const std::vector<double>& below) {
  std::vector<double> values;
  for (std::size_t i = 0; i < std::min(above.size(), below.size()); ++i)
    if (above[i] > 0 && below[i] > 0) values.push_back(std::log(above[i] / below[i]));
  return values;
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kSame:
      return "same";
    case Verdict::kBetter:
      return "better";
    case Verdict::kWorse:
      return "worse";
    case Verdict::kUnclear:
      break;
  }
  return "unclear";
}

std::size_t GateOutcome::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::count_if(
      comparisons.begin(), comparisons.end(),
      [&](const MetricComparison& comparison) { return comparison.verdict == verdict; }));
}

bool lower_is_better(const MetricSeries& series) { return series.better != "higher"; }

MetricComparison compare_exact(const SeriesName& name, const MetricSeries& before,
                               const MetricSeries& after, bool direction_counts) {
  MetricComparison comparison = start(name, before, after);
  const std::vector<double> old_samples = last_samples(before), samples = last_samples(after);
  comparison.before = old_samples.empty() ? 0 : mean(old_samples);
  comparison.after = samples.empty() ? 0 : mean(samples);
  comparison.change = worsening(after.better, comparison.before, comparison.after);
  if (varies(after)) {
    comparison.verdict = Verdict::kWorse;
    comparison.note = "differs from launch to launch of one build";
  } else if (varies(before)) {
    comparison.verdict = Verdict::kWorse;
    comparison.note = "differs from launch to launch of the baseline";
  } else if (old_samples == samples) {
    comparison.verdict = Verdict::kSame;
  } else if (comparison.change < 0 && direction_counts) {
    comparison.verdict = Verdict::kBetter;
  } else {
    comparison.verdict = Verdict::kWorse;
    if (comparison.change < 0)
      comparison.note = "better, but not what the baseline has: if it is meant, record a new one";
    if (comparison.change == 0) comparison.note = "other values with the same mean";
  }
  return comparison;
}

MetricComparison compare_quality(const SeriesName& name, const MetricSeries& before,
                                 const MetricSeries& after, const GateMargins& margins) {
  MetricComparison comparison = start(name, before, after);
  comparison.margin = margins.margin;
  const std::vector<double> old_samples = last_samples(before), samples = last_samples(after);
  if (old_samples.empty() || samples.empty()) {
    // Nothing finite on one side only is a change that no share can tell.
    comparison.verdict = old_samples.empty() == samples.empty() ? Verdict::kSame : Verdict::kWorse;
    comparison.note = "not one finite value";
    return comparison;
  }
  comparison.before = mean(old_samples);
  comparison.after = mean(samples);
  comparison.change = worsening(after.better, comparison.before, comparison.after);
  comparison.verdict = comparison.change > margins.margin    ? Verdict::kWorse
                       : comparison.change < -margins.margin ? Verdict::kBetter
                                                             : Verdict::kSame;
  if (margins.least && comparison.after < *margins.least) {
    comparison.verdict = Verdict::kWorse;
    comparison.note = "below the policy's least";
  }
  if (margins.most && comparison.after > *margins.most) {
    comparison.verdict = Verdict::kWorse;
    comparison.note = "above the policy's most";
  }
  return comparison;
}

std::vector<double> paired_differences(const MetricSeries& before, const MetricSeries& after,
                                       bool in_turns) {
  std::vector<double> differences;
  const double sign = lower_is_better(after) ? 1 : -1;
  const std::size_t pairs = std::min(before.launches.size(), after.launches.size());
  for (std::size_t i = 0; i < pairs; ++i) {
    const std::vector<double>&old = before.launches[i], &now = after.launches[i];
    const bool beside = in_turns && old.size() == now.size();
    const std::vector<double> each = beside ? logarithms_of_ratios(now, old)
                                            : logarithms_of_ratios(middle_of(now), middle_of(old));
    if (!each.empty()) differences.push_back(sign * median(each));
  }
  return differences;
}

void sort_worst_first(std::vector<MetricComparison>& comparisons) {
  std::stable_sort(comparisons.begin(), comparisons.end(),
                   [](const MetricComparison& a, const MetricComparison& b) {
                     return std::make_tuple(rank_of(a.verdict), -a.change) <
                            std::make_tuple(rank_of(b.verdict), -b.change);
                   });
}

}  // namespace thinpipe
