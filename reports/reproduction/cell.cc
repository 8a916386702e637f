#include "reports/reproduction/cell.h"

#include <algorithm>

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
  return exact ? Estimate{mean(all), std::nullopt} : mean_of_samples(all);
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
