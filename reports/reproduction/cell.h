// One figure of a reproduction: what was measured of a row in a column.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/statistics/interval.h"

namespace thinpipe {

/// One value for each time that the same was measured. What has the same key was measured alike:
/// the same seed, the same repeat of a run, the same worker's gradients.
struct Repetition {
  std::uint64_t key = 0;
  double value = 0;
};

struct MeasuredCell {
  std::vector<Repetition> repetitions;
  bool exact = false;                   ///< measured again it would be the same to the last digit
  bool is_ratio = false;                ///< its mean is a geometric one
  bool distrusted = false;              ///< there are times, but none that can be trusted
  std::vector<std::string> complaints;  ///< what does not count, and why

  std::vector<double> values() const;
  /// Their mean, with its 95 % interval where it is not exact and there are enough of them; of at
  /// least one.
  Estimate estimate() const;
};

/// The mean and its 95 % interval by their logarithms; of at least one value. Of values that are
/// not all positive the arithmetic mean.
Estimate mean_ratio_of_samples(const std::vector<double>& ratios);

/// What two cells have in common: values of the same key, first to second.
struct PairedValue {
  double first = 0, second = 0;
};
std::vector<PairedValue> paired(const MeasuredCell& first, const MeasuredCell& second);

}  // namespace thinpipe
