// Comparisons of single metrics, the tests of times, and the outcome over all metrics.
#include "reports/gate/gate.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "base/error.h"
#include "reports/record/record.h"
#include "reports/statistics/rank_tests.h"

namespace thinpipe {
namespace {

// Returns whether a smaller value is better. Times with a target count as lower-is-better.
bool lower_is_better(const MetricSeries& series) { return series.better != "higher"; }

constexpr std::string_view kTarget = "target:";

std::vector<double> last_samples(const MetricSeries& series) {
  for (auto launch = series.launches.rbegin(); launch != series.launches.rend(); ++launch)
    if (!launch->empty()) return *launch;
  return {};
}

// Returns whether launches of one build differ; an exact metric must not. A launch without a finite
// value differs from one with values.
bool varies(const MetricSeries& series) {
  const std::vector<double> last = last_samples(series);
  return std::ranges::any_of(series.launches,
                             [&](const std::vector<double>& samples) { return samples != last; });
}

// Returns the change from `before` to `after`, which is positive if `after` is worse. The change is
// a fraction of `before` or, if the metric has a target, of the target. If that divisor is 0,
// returns the difference itself.
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

// Returns the launch with the worst mean; nothing if no launch has a sample.
std::vector<double> worst_samples(const MetricSeries& series) {
  std::vector<double> worst;
  for (const std::vector<double>& samples : series.launches)
    if (!samples.empty() &&
        (worst.empty() || worsening(series.better, mean(worst), mean(samples)) > 0))
      worst = samples;
  return worst;
}

int rank_of(Verdict verdict) {
  constexpr int kRanks[] = {3, 2, 0, 1};  // of kSame, kBetter, kWorse and kUnclear
  return kRanks[static_cast<std::size_t>(verdict)];
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

constexpr std::size_t kMinLaunches = 4;

// Returns how many launches each side needs, so that a change of one of `times` times can be
// significant: the rank-sum test's least two-sided p-value is 2 / C(2n, n), and Benjamini and
// Hochberg compare the least of all p-values with alpha / times.
std::size_t telling_launches(std::size_t times, double alpha) {
  std::size_t n = 1;
  double arrangements = 2;  // C(2n, n)
  for (; 2 / arrangements > alpha / static_cast<double>(times); ++n)
    arrangements *= 2.0 * static_cast<double>(2 * n + 1) / static_cast<double>(n + 1);
  return n;
}

// The p-values of a time's change, and its comparison for the report.
struct Tested {
  MetricComparison comparison;
  double p_worse = 1, p_better = 1;  // two-sided
  double p_same = 1;                 // the larger of the two one-sided tests
};

bool is_ignored(const GatePolicy& policy, const SeriesName& name) {
  return policy.of(name.first, name.second, policy.margin).ignore;
}

// Returns whether the metric is a time over another time of the same launch.
bool is_ratio(const MetricSeries& series) { return series.unit == "1"; }

void add_missing(const Measured& has, const Measured& has_not, const char* where,
                 const GatePolicy& policy, GateOutcome& outcome) {
  std::string last_point;
  for (const auto& [name, series] : has.series) {
    if (has_not.series.contains(name) || is_ignored(policy, name)) continue;
    if (has_not.not_good.contains(name.first)) continue;  // reported as failed
    const bool has_point = std::ranges::any_of(
        has_not.series,
        [&point = name.first](const auto& other) { return other.first.first == point; });
    if (!has_point && name.first == last_point) continue;
    last_point = name.first;
    outcome.missing.push_back(std::string(where) + ": " +
                              (has_point ? series_title(name) : "point " + name.first));
  }
}

void check_sides(const Measured& before, const Measured& after, const GatePolicy& policy,
                 GateOutcome& outcome) {
  if (before.launches > 0 && after.launches > 0 && before.kind != after.kind)
    throw InputError(before.file.string() + " has records of '" + before.kind + "', " +
                     after.file.string() + " of '" + after.kind + "'");
  add_missing(before, after, "in the baseline only", policy, outcome);
  add_missing(after, before, "not in the baseline", policy, outcome);
  for (const auto& [id, why] : before.not_good)
    outcome.missing.push_back("in the baseline " + id + " was " + why);
  for (const auto& [id, why] : after.not_good) outcome.failed.push_back(id + ": " + why);
  outcome.launches = std::max(before.launches, after.launches);
}

// Compares exact and quality metrics, and calls `timed` for times.
template <class Timed>
void compare_all(const Measured& before, const Measured& after, const GatePolicy& policy,
                 bool direction_counts, GateOutcome& outcome, Timed timed) {
  for (const auto& [name, series] : after.series) {
    const auto old = before.series.find(name);
    if (old == before.series.end() || is_ignored(policy, name)) continue;
    if (series.kind == "exact") {
      outcome.comparisons.push_back(compare_exact(name, old->second, series, direction_counts));
    } else if (series.kind == "quality") {
      outcome.comparisons.push_back(compare_quality(
          name, old->second, series, policy.of(name.first, name.second, policy.quality_margin)));
    } else {
      timed(name, old->second, series);
    }
  }
}

// Sets the verdicts of all times together, with the false discovery rate `alpha`. `settled_worse`
// and `settled_better` are the p-values of times that have their verdicts already.
void judge(std::vector<Tested>& tested, double alpha, const std::vector<double>& settled_worse = {},
           const std::vector<double>& settled_better = {}) {
  const auto accepted = [&](double Tested::*p, const std::vector<double>& settled) {
    std::vector<double> values;
    for (const Tested& one : tested) values.push_back(one.*p);
    values.insert(values.end(), settled.begin(), settled.end());
    return benjamini_hochberg(values, alpha);
  };
  const std::vector<bool> worse = accepted(&Tested::p_worse, settled_worse);
  const std::vector<bool> better = accepted(&Tested::p_better, settled_better);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    Verdict& verdict = tested[i].comparison.verdict;
    verdict = worse[i]                    ? Verdict::kWorse
              : better[i]                 ? Verdict::kBetter
              : tested[i].p_same <= alpha ? Verdict::kSame
                                          : Verdict::kUnclear;
  }
}

double two_sided(double p) { return std::min(1.0, 2 * p); }

MetricComparison timed_comparison(const SeriesName& name, const MetricSeries& before,
                                  const MetricSeries& after, double margin, std::size_t samples) {
  MetricComparison comparison = start(name, before, after);
  comparison.before = median(before.medians());
  comparison.after = median(after.medians());
  comparison.margin = margin;
  comparison.samples = samples;
  return comparison;
}

void set_change(double estimate, const std::optional<Interval>& interval,
                MetricComparison& comparison) {
  comparison.change = std::expm1(estimate);
  if (interval) comparison.interval = {std::expm1(interval->low), std::expm1(interval->high)};
}

Tested test_pairs(const SeriesName& name, const MetricSeries& before, const MetricSeries& after,
                  const std::vector<double>& differences, double margin, double alpha) {
  Tested tested{.comparison = timed_comparison(name, before, after, margin, differences.size())};
  set_change(hodges_lehmann(differences), signed_rank_interval(differences, 1 - alpha),
             tested.comparison);
  const double bound = std::log1p(margin);
  tested.p_worse = two_sided(signed_rank_above(differences, bound));
  tested.p_better = two_sided(signed_rank_below(differences, -bound));
  tested.p_same =
      std::max(signed_rank_below(differences, bound), signed_rank_above(differences, -bound));
  return tested;
}

// Returns logarithms whose sign makes greater values worse.
std::vector<double> signed_logarithms(const MetricSeries& series) {
  std::vector<double> values;
  const double sign = lower_is_better(series) ? 1 : -1;
  for (const double value : series.medians())
    if (value > 0) values.push_back(sign * std::log(value));
  return values;
}

Tested test_launches(const SeriesName& name, const MetricSeries& before, const MetricSeries& after,
                     double margin, double alpha) {
  const std::vector<double> x = signed_logarithms(before), y = signed_logarithms(after);
  Tested tested{.comparison =
                    timed_comparison(name, before, after, margin, std::min(x.size(), y.size()))};
  set_change(hodges_lehmann_shift(x, y), rank_sum_interval(x, y, 1 - alpha), tested.comparison);
  const double bound = std::log1p(margin);
  tested.p_worse = two_sided(rank_sum_above(x, y, bound));
  tested.p_better = two_sided(rank_sum_below(x, y, -bound));
  tested.p_same = std::max(rank_sum_below(x, y, bound), rank_sum_above(x, y, -bound));
  return tested;
}

void refuse_other_conditions(const Measured& baseline, const Measured& measured, Times times,
                             GateOutcome& outcome) {
  // Jobs of one file may have different settings; a point's id names the job.
  if (measured.kind != kJobKind) {
    if (baseline.launches > 0 && measured.launches > 0)
      for (const std::string& difference : subject_differences(baseline.header, measured.header))
        outcome.missing.push_back("other settings than the baseline: " + difference);
    for (const Measured* side : {&baseline, &measured})
      for (const std::string& difference : side->subjects)
        outcome.missing.push_back(side->file.string() +
                                  " has launches of several settings: " + difference);
  }
  for (const std::string& difference : measured.machines)
    outcome.missing.push_back("the machine changed between launches: " + difference);
  if (times != Times::kAll) return;
  for (const std::string& difference : baseline.machines)
    outcome.missing.push_back("the baseline has launches of several machines: " + difference);
  for (const std::string& difference : machine_differences(baseline.header, measured.header))
    outcome.missing.push_back("another machine than the baseline's: " + difference);
}

}  // namespace

const char* verdict_name(Verdict verdict) {
  constexpr const char* kNames[] = {"same", "better", "worse", "unclear"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::size_t GateOutcome::count(Verdict verdict) const {
  return static_cast<std::size_t>(
      std::ranges::count(comparisons, verdict, &MetricComparison::verdict));
}

void judge_bounds(const GateMargins& margins, MetricComparison& comparison) {
  if (margins.least && comparison.after < *margins.least) {
    comparison.verdict = Verdict::kWorse;
    comparison.note = "below the policy's minimum";
  }
  if (margins.most && comparison.after > *margins.most) {
    comparison.verdict = Verdict::kWorse;
    comparison.note = "above the policy's maximum";
  }
}

MetricComparison compare_exact(const SeriesName& name, const MetricSeries& before,
                               const MetricSeries& after, bool direction_counts) {
  MetricComparison comparison = start(name, before, after);
  const std::vector<double> old_samples = last_samples(before), samples = last_samples(after);
  comparison.before = old_samples.empty() ? 0 : mean(old_samples);
  comparison.after = samples.empty() ? 0 : mean(samples);
  comparison.change = worsening(after.better, comparison.before, comparison.after);
  if (varies(after)) {
    comparison.verdict = Verdict::kWorse;
    comparison.note = "differs between launches of one build";
  } else if (varies(before)) {
    comparison.verdict = Verdict::kWorse;
    comparison.note = "differs between launches of the baseline";
  } else if (old_samples.empty() != samples.empty()) {
    comparison.verdict = Verdict::kWorse;
    comparison.note = "no finite value";
  } else if (old_samples == samples) {
    comparison.verdict = Verdict::kSame;
  } else if (comparison.change < 0 && direction_counts) {
    comparison.verdict = Verdict::kBetter;
  } else {
    comparison.verdict = Verdict::kWorse;
    if (comparison.change < 0)
      comparison.note = "better, but differs from the baseline; if intended, record a new one";
    if (comparison.change == 0) comparison.note = "other values with the same mean";
  }
  return comparison;
}

MetricComparison compare_quality(const SeriesName& name, const MetricSeries& before,
                                 const MetricSeries& after, const GateMargins& margins) {
  MetricComparison comparison = start(name, before, after);
  comparison.margin = margins.margin;
  const std::vector<double> old_samples = last_samples(before);
  const std::vector<double> samples = worst_samples(after);
  if (old_samples.empty() || samples.empty()) {
    // Finite values on one side only are a change without a fraction.
    comparison.verdict = old_samples.empty() == samples.empty() ? Verdict::kSame : Verdict::kWorse;
    comparison.note = "no finite value";
    return comparison;
  }
  comparison.before = mean(old_samples);
  comparison.after = mean(samples);
  comparison.change = worsening(after.better, comparison.before, comparison.after);
  if (std::ranges::any_of(after.launches, [&](const std::vector<double>& launch) {
        return launch.size() < old_samples.size();
      })) {
    comparison.verdict = Verdict::kWorse;
    comparison.note = "fewer finite values";
    return comparison;
  }
  comparison.verdict = comparison.change > margins.margin    ? Verdict::kWorse
                       : comparison.change < -margins.margin ? Verdict::kBetter
                                                             : Verdict::kSame;
  judge_bounds(margins, comparison);
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
  std::ranges::stable_sort(comparisons, {}, [](const MetricComparison& one) {
    return std::tuple(rank_of(one.verdict), -one.change);
  });
}

GateOutcome PairedGate::look(const Measured& older, const Measured& after) {
  const Measured before = with_ids_of(after, older);
  const double alpha = policy_.alpha / policy_.looks;
  GateOutcome outcome;
  outcome.looks = ++looks_;
  outcome.in_turns = before.in_turns && after.in_turns;
  check_sides(before, after, policy_, outcome);
  std::vector<Tested> tested;
  std::vector<double> settled_worse, settled_better;
  compare_all(before, after, policy_, /*direction_counts=*/true, outcome,
              [&](const SeriesName& name, const MetricSeries& old, const MetricSeries& series) {
                // A ratio repeats another time of the same launch.
                if (is_ratio(series)) return;
                if (const auto known = settled_.find(name); known != settled_.end()) {
                  outcome.comparisons.push_back(known->second.comparison);
                  settled_worse.push_back(known->second.p_worse);
                  settled_better.push_back(known->second.p_better);
                  return;
                }
                const std::vector<double> differences =
                    paired_differences(old, series, outcome.in_turns);
                if (differences.empty()) {
                  outcome.missing.push_back("no pair of times: " + series_title(name));
                  return;
                }
                const double margin = policy_.of(name.first, name.second, policy_.margin).margin;
                tested.push_back(test_pairs(name, old, series, differences, margin, alpha));
              });
  judge(tested, alpha, settled_worse, settled_better);
  for (Tested& one : tested) {
    if (one.comparison.verdict != Verdict::kUnclear)
      settled_[one.comparison.name] = {one.comparison, one.p_worse, one.p_better};
    outcome.comparisons.push_back(std::move(one.comparison));
  }
  sort_worst_first(outcome.comparisons);
  return outcome;
}

GateOutcome judge_stored(const Measured& stored, const Measured& measured, const GatePolicy& policy,
                         Times times) {
  const Measured baseline = with_ids_of(measured, stored);
  GateOutcome outcome;
  check_sides(baseline, measured, policy, outcome);
  refuse_other_conditions(baseline, measured, times, outcome);
  std::vector<Tested> tested;
  compare_all(baseline, measured, policy, /*direction_counts=*/false, outcome,
              [&](const SeriesName& name, const MetricSeries& old, const MetricSeries& series) {
                if (times == Times::kNone || (times == Times::kRatios && !is_ratio(series))) return;
                const std::size_t fewest =
                    std::min(signed_logarithms(old).size(), signed_logarithms(series).size());
                if (fewest < kMinLaunches) {
                  outcome.missing.push_back(series_title(name) + ": " + std::to_string(fewest) +
                                            " launches; times need " +
                                            std::to_string(kMinLaunches) + " on both sides");
                  return;
                }
                const double margin =
                    policy.of(name.first, name.second, policy.stored_margin).margin;
                tested.push_back(test_launches(name, old, series, margin, policy.alpha));
              });
  judge(tested, policy.alpha);
  const std::size_t needed =
      telling_launches(std::max<std::size_t>(1, tested.size()), policy.alpha);
  for (Tested& one : tested) {
    MetricComparison& comparison = one.comparison;
    if (comparison.verdict == Verdict::kUnclear && comparison.samples < needed)
      comparison.note = "too few launches: " + std::to_string(needed) +
                        " a side can tell a change of one in " + std::to_string(tested.size());
    outcome.comparisons.push_back(std::move(comparison));
  }
  sort_worst_first(outcome.comparisons);
  return outcome;
}

int exit_code(const GateOutcome& outcome, bool strict) {
  if (!outcome.failed.empty()) return kExitFailed;
  if (!outcome.missing.empty() || outcome.comparisons.empty()) return kExitNotComparable;
  if (outcome.count(Verdict::kWorse) > 0) return kExitRegression;
  if (strict && outcome.count(Verdict::kUnclear) > 0) return kExitInconclusive;
  return kExitGood;
}

}  // namespace thinpipe
