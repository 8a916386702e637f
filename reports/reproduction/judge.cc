// Means of figures, of paired differences and of paired ratios, and the rules on them.
#include "reports/reproduction/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/statistics/statistics.h"

namespace thinpipe {
namespace {

// Returns the geometric mean of at least one value and its 95 % interval, by the logarithms; the
// arithmetic mean where a value is not positive.
Estimate mean_ratio_of_samples(const std::vector<double>& ratios) {
  std::vector<double> logarithms;
  for (const double ratio : ratios) {
    if (!(ratio > 0)) return mean_of_samples(ratios);
    logarithms.push_back(std::log(ratio));
  }
  return mean_of_samples(logarithms).mapped([](double logarithm) { return std::exp(logarithm); });
}

// Returns the estimate of a figure whose inverse has the given estimate.
Estimate inverted(const Estimate& inverse) {
  const auto over = [](double value) {
    return value > 0 ? 1 / value : std::numeric_limits<double>::infinity();
  };
  Estimate estimate{over(inverse.value), std::nullopt};
  if (inverse.interval)
    estimate.interval = {over(inverse.interval->high), over(inverse.interval->low)};
  return estimate;
}

// Returns the mean ratio of pairs. A figure of 0 is that of a training that missed its target. A
// pair of two zeros says nothing. A ratio over 0 is infinite; the mean is then that of the inverse
// ratios, inverted. @returns nothing if some ratios are 0 and others infinite, or without any ratio
std::optional<Estimate> mean_ratio(const std::vector<PairedValue>& pairs, bool exact) {
  MeasuredCell ratios{.exact = exact, .is_ratio = true}, inverses = ratios;
  bool has_zero = false, has_infinite = false;
  for (const auto& [one, other] : pairs) {
    if (!(one >= 0 && other >= 0)) return std::nullopt;
    if (one == 0 && other == 0) continue;
    has_zero = has_zero || one == 0;
    has_infinite = has_infinite || other == 0;
    ratios.repetitions.push_back({0, one / other});
    inverses.repetitions.push_back({0, other / one});
  }
  if (ratios.repetitions.empty() || (has_zero && has_infinite)) return std::nullopt;
  return has_infinite ? inverted(inverses.estimate()) : ratios.estimate();
}

std::optional<Estimate> compared(const Expectation& expected, const MeasuredCell& first,
                                 const MeasuredCell* second) {
  if (expected.bounded == Bounded::kValue || second == nullptr)
    return first.repetitions.empty() ? std::nullopt : std::optional(first.estimate());
  const std::vector<PairedValue> pairs = paired(first, *second);
  if (pairs.empty()) return std::nullopt;
  const bool exact = first.exact && second->exact;
  if (expected.bounded == Bounded::kRatio) return mean_ratio(pairs, exact);
  MeasuredCell changes{.exact = exact};
  for (const auto& [one, other] : pairs) changes.repetitions.push_back({0, one - other});
  return changes.estimate();
}

Appeared verdict_of(const Estimate& measured, const Interval& bounds, bool exact) {
  const bool within = bounds.holds(measured.value);
  if (exact) return within ? Appeared::kYes : Appeared::kNo;
  if (!measured.interval) return within ? Appeared::kSeen : Appeared::kNotSeen;
  const Interval& interval = *measured.interval;
  if (bounds.holds(interval.low) && bounds.holds(interval.high)) return Appeared::kYes;
  const bool outside = interval.high < bounds.low || interval.low > bounds.high;
  return outside ? Appeared::kNo : Appeared::kUnclear;
}

}  // namespace

std::vector<double> MeasuredCell::values() const {
  std::vector<double> all;
  for (const Repetition& one : repetitions) all.push_back(one.value);
  return all;
}

Estimate MeasuredCell::estimate() const {
  const std::vector<double> all = values();
  if (exact) return {mean(all), std::nullopt};
  return is_ratio ? mean_ratio_of_samples(all) : mean_of_samples(all);
}

std::vector<PairedValue> paired(const MeasuredCell& first, const MeasuredCell& second) {
  std::vector<PairedValue> pairs;
  for (const Repetition& one : first.repetitions) {
    const auto other = std::ranges::find(second.repetitions, one.key, &Repetition::key);
    if (other != second.repetitions.end()) pairs.push_back({one.value, other->value});
  }
  return pairs;
}

const char* words_of(Appeared appeared) {
  constexpr const char* kWords[] = {
      "yes",         "no",   "unclear",     "looks so", "does not look so",
      "not trusted", "void", "not measured"};
  return kWords[static_cast<std::size_t>(appeared)];
}

JudgedFinding judge(const Expectation& expected, const MeasuredCell& first,
                    const MeasuredCell* second) {
  JudgedFinding finding{.expected = expected, .measured = compared(expected, first, second)};
  if (!finding.measured) {
    if (first.distrusted || (second != nullptr && second->distrusted))
      finding.appeared = Appeared::kDistrusted;
    else if (second != nullptr && !paired(first, *second).empty())
      finding.appeared = Appeared::kUnclear;
    return finding;
  }
  const bool exact = first.exact && (second == nullptr || second->exact);
  finding.appeared = verdict_of(*finding.measured, {expected.least, expected.most}, exact);
  return finding;
}

std::string rule_text(const Expectation& expected, const std::string& column,
                      const std::string& than_column) {
  std::string what = fmt::format("'{}'", expected.arm);
  if (expected.bounded != Bounded::kValue) {
    const bool other = than_column != column;
    what += fmt::format("{} {} '{}'{}", other ? ", " + column + "," : "",
                        expected.bounded == Bounded::kRatio ? "over" : "less", expected.than,
                        other ? ", " + than_column : ", " + column);
  } else {
    what += ", " + column;
  }
  const std::string why = expected.one_side.empty() ? "" : " (" + expected.one_side + ")";
  if (std::isinf(expected.least))
    return fmt::format("{}: at most {:g}{}", what, expected.most, why);
  if (std::isinf(expected.most))
    return fmt::format("{}: at least {:g}{}", what, expected.least, why);
  return fmt::format("{}: {:g} to {:g}", what, expected.least, expected.most);
}

}  // namespace thinpipe
