#include "reports/reproduction/cell.h"

#include <algorithm>
#include <cmath>

#include "reports/statistics/confidence.h"
#include "reports/statistics/quantile.h"

namespace thinpipe {

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

Estimate mean_ratio_of_samples(const std::vector<double>& ratios) {
  std::vector<double> logarithms;
  for (const double ratio : ratios) {
    if (!(ratio > 0)) return mean_of_samples(ratios);
    logarithms.push_back(std::log(ratio));
  }
  Estimate estimate = mean_of_samples(logarithms);
  estimate.value = std::exp(estimate.value);
  if (estimate.interval)
    estimate.interval =
        Interval{std::exp(estimate.interval->low), std::exp(estimate.interval->high)};
  return estimate;
}

std::vector<PairedValue> paired(const MeasuredCell& first, const MeasuredCell& second) {
  std::vector<PairedValue> pairs;
  for (const Repetition& one : first.repetitions) {
    const auto other =
        std::find_if(second.repetitions.begin(), second.repetitions.end(),
                     [&](const Repetition& candidate) { return candidate.key == one.key; });
    if (other != second.repetitions.end()) pairs.push_back({one.value, other->value});
  }
  return pairs;
}

}  // namespace thinpipe
