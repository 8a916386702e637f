#include "harness/worker/outer_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace thinpipe {

void OuterReference::follow(std::span<const float> aggregate, std::span<const float> velocity) {
  const double m = options_.momentum, rate = options_.learning_rate;
  if (velocity_.empty()) {
    velocity_.assign(velocity.begin(), velocity.end());
  } else {
    for (std::size_t i = 0; i < velocity_.size(); ++i)
      velocity_[i] = m * velocity_[i] + static_cast<double>(aggregate[i]);
  }
  expected_.resize(velocity_.size());
  for (std::size_t i = 0; i < velocity_.size(); ++i)
    expected_[i] = rate * static_cast<double>(aggregate[i]) + rate * m * velocity_[i];
}

double OuterReference::error_of(std::span<const float> update) const {
  if (expected_.empty()) return 0;
  if (update.size() != expected_.size()) return std::numeric_limits<double>::quiet_NaN();
  double worst = 0, largest = 0;
  for (std::size_t i = 0; i < update.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(update[i]) - expected_[i]);
    if (std::isnan(difference)) return difference;
    worst = std::max(worst, difference);
    largest = std::max(largest, std::fabs(expected_[i]));
  }
  return largest > 0 ? worst / largest : worst;
}

}  // namespace thinpipe
