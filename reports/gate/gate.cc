#include "reports/gate/gate.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "reports/record/machine.h"
#include "reports/statistics/false_discovery.h"
#include "reports/statistics/quantile.h"
#include "reports/statistics/rank_sum.h"
#include "reports/statistics/signed_rank.h"

namespace thinpipe {
namespace {

constexpr std::size_t kFewestLaunches = 4;

// The three one-sided questions about a time's change, and what goes into the report.
struct Tested {
  MetricComparison comparison;
  double p_worse = 1, p_better = 1;  // two-sided
  double p_same = 1;                 // the larger of the two one-sided tests
};

std::string text_of(const SeriesName& name) { return name.second + " of " + name.first; }

bool is_ignored(const GatePolicy& policy, const SeriesName& name) {
  return policy.of(name.first, name.second, policy.margin).ignore;
}

// Times that were divided by something of the same launch.
bool is_ratio(const MetricSeries& series) { return series.unit == "1"; }

void add_missing(const Measured& has, const Measured& has_not, const char* where,
                 const GatePolicy& policy, GateOutcome& outcome) {
  std::string last_point;
  for (const auto& [name, series] : has.series) {
    if (has_not.series.contains(name) || is_ignored(policy, name)) continue;
    if (has_not.not_good.contains(name.first)) continue;  // told as failed
    const bool has_point = std::any_of(
        has_not.series.begin(), has_not.series.end(),
        [&point = name.first](const auto& other) { return other.first.first == point; });
    if (!has_point && name.first == last_point) continue;
    last_point = name.first;
    outcome.missing.push_back(std::string(where) + ": " +
                              (has_point ? text_of(name) : "point " + name.first));
  }
}

void check_sides(const Measured& before, const Measured& after, const GatePolicy& policy,
                 GateOutcome& outcome) {
  if (before.launches > 0 && after.launches > 0 && before.kind != after.kind) {
    throw InputError(before.file.string() + " holds records of '" + before.kind + "', " +
                     after.file.string() + " of '" + after.kind + "'");
  }
  add_missing(before, after, "in the baseline only", policy, outcome);
  add_missing(after, before, "not in the baseline", policy, outcome);
  for (const auto& [id, why] : before.not_good)
    outcome.missing.push_back("in the baseline " + id + " was " + why);
  for (const auto& [id, why] : after.not_good) outcome.failed.push_back(id + ": " + why);
  outcome.launches = std::max(before.launches, after.launches);
}

// Everything that is not a time; times are left to `timed`.
template <class Timed>
void compare_all(const Measured& before, const Measured& after, const GatePolicy& policy,
                 bool direction_counts, GateOutcome& outcome, Timed timed) {
  for (const auto& [name, series] : after.series) {
    const auto old = before.series.find(name);
    if (old == before.series.end()) continue;
    if (is_ignored(policy, name)) continue;
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

// Believes what the rule lets it, of all times together, at a risk of `alpha`.
void judge(std::vector<Tested>& tested, double alpha) {
  const auto believed = [&](double Tested::*p) {
    std::vector<double> values;
    for (const Tested& one : tested) values.push_back(one.*p);
    return benjamini_hochberg(values, alpha);
  };
  const std::vector<bool> worse = believed(&Tested::p_worse), better = believed(&Tested::p_better);
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
  return {.name = name,
          .unit = after.unit,
          .better = after.better,
          .kind = after.kind,
          .before = median(before.medians()),
          .after = median(after.medians()),
          .margin = margin,
          .samples = samples};
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

// Positive where greater is worse.
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

void refuse_other_machines(const Measured& baseline, const Measured& measured, Times times,
                           GateOutcome& outcome) {
  for (const std::string& difference : measured.mixed)
    outcome.missing.push_back("machines changed while measuring: " + difference);
  if (times != Times::kAll) return;
  for (const std::string& difference : baseline.mixed)
    outcome.missing.push_back("the baseline is of several machines: " + difference);
  for (const std::string& difference :
       machine_differences(baseline.fingerprint, measured.fingerprint))
    outcome.missing.push_back("another machine than the baseline's: " + difference);
}

}  // namespace

GateOutcome PairedGate::look(const Measured& before, const Measured& after) {
  const double alpha = policy_.alpha / policy_.looks;
  GateOutcome outcome;
  outcome.looks = ++looks_;
  outcome.in_turns = before.in_turns && after.in_turns;
  check_sides(before, after, policy_, outcome);
  std::vector<Tested> tested;
  compare_all(before, after, policy_, /*direction_counts=*/true, outcome,
              [&](const SeriesName& name, const MetricSeries& old, const MetricSeries& series) {
                // What only repeats another time, over something of the same launch.
                if (is_ratio(series)) return;
                if (const auto known = settled_.find(name); known != settled_.end()) {
                  outcome.comparisons.push_back(known->second);
                  return;
                }
                const std::vector<double> differences =
                    paired_differences(old, series, outcome.in_turns);
                if (differences.empty()) {
                  outcome.missing.push_back("no pair of times: " + text_of(name));
                  return;
                }
                const double margin = policy_.of(name.first, name.second, policy_.margin).margin;
                tested.push_back(test_pairs(name, old, series, differences, margin, alpha));
              });
  judge(tested, alpha);
  for (Tested& one : tested) {
    if (one.comparison.verdict != Verdict::kUnclear)
      settled_.emplace(one.comparison.name, one.comparison);
    outcome.comparisons.push_back(std::move(one.comparison));
  }
  sort_worst_first(outcome.comparisons);
  return outcome;
}

GateOutcome judge_stored(const Measured& baseline, const Measured& measured,
                         const GatePolicy& policy, Times times) {
  GateOutcome outcome;
  check_sides(baseline, measured, policy, outcome);
  refuse_other_machines(baseline, measured, times, outcome);
  std::vector<Tested> tested;
  compare_all(baseline, measured, policy, /*direction_counts=*/false, outcome,
              [&](const SeriesName& name, const MetricSeries& old, const MetricSeries& series) {
                if (times == Times::kNone || (times == Times::kRatios && !is_ratio(series))) return;
                const std::size_t fewest =
                    std::min(signed_logarithms(old).size(), signed_logarithms(series).size());
                if (fewest < kFewestLaunches) {
                  outcome.missing.push_back(text_of(name) + ": " + std::to_string(fewest) +
                                            " launches; times need " +
                                            std::to_string(kFewestLaunches) + " on both sides");
                  return;
                }
                const double margin =
                    policy.of(name.first, name.second, policy.stored_margin).margin;
                tested.push_back(test_launches(name, old, series, margin, policy.alpha));
              });
  judge(tested, policy.alpha);
  for (Tested& one : tested) outcome.comparisons.push_back(std::move(one.comparison));
  sort_worst_first(outcome.comparisons);
  return outcome;
}

int exit_code(const GateOutcome& outcome, bool strict) {
  constexpr int kGood = 0, kRegression = 1, kInconclusive = 3, kFailed = 4, kNotComparable = 5;
  if (!outcome.failed.empty()) return kFailed;
  if (!outcome.missing.empty() || outcome.comparisons.empty()) return kNotComparable;
  if (outcome.count(Verdict::kWorse) > 0) return kRegression;
  if (strict && outcome.count(Verdict::kUnclear) > 0) return kInconclusive;
  return kGood;
}

}  // namespace thinpipe
