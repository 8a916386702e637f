// Integer keys that order floats as a selection ranks them.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/both.h"

namespace thinpipe {

constexpr std::int32_t kMinKey = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t kMaxKey = std::numeric_limits<std::int32_t>::max();

/// Ranking order of a selection. Keys compare as signed integers; a greater key ranks first. No key
/// is kMinKey (two NaNs share kMinKey + 1 instead), so that "greater than limit - 1" always works.
enum class KeyOrder {
  kMagnitude,  ///< bits of |x|: NaN > infinity > finite; -0 and +0 are equal
  kLargest,    ///< x from largest to smallest; +NaN first, -NaN last; -0 and +0 are equal
  kSmallest,   ///< the reverse of kLargest
};

THINPIPE_BOTH inline std::int32_t key_of(float x, KeyOrder order) {
  if (order == KeyOrder::kMagnitude) {
    return std::bit_cast<std::int32_t>(x) & 0x7fffffff;
  }
  const auto bits = std::bit_cast<std::int32_t>(x == 0 ? 0.0F : x);
  const std::int32_t ascending = bits ^ ((bits >> 31) & 0x7fffffff);
  return std::max(order == KeyOrder::kLargest ? ascending : ~ascending, kMinKey + 1);
}

/// Returns the number that all keys >= limit exceed, and no other keys.
THINPIPE_BOTH constexpr std::int32_t just_below(std::int32_t limit) {
  return limit == kMinKey ? kMinKey : limit - 1;  // no key is kMinKey
}

/// Returns the smallest magnitude key that exceeds `threshold` >= 0: key >= limit if and only if
/// |x| > threshold, compared exactly. Only a NaN exceeds a NaN threshold.
THINPIPE_BOTH inline std::int32_t key_above(double threshold) {
  if (std::isnan(threshold)) return 0x7f800001;
  if (threshold <= 0) return threshold < 0 ? 0 : 1;  // also for -0
  auto nearest = static_cast<float>(threshold);
  if (static_cast<double>(nearest) > threshold) nearest = std::nextafterf(nearest, 0.0F);
  return std::bit_cast<std::int32_t>(nearest) + 1;
}

/// Returns the smallest magnitude key that reaches `threshold`: key >= limit if and only if |x| >=
/// threshold.
THINPIPE_BOTH inline std::int32_t key_reaching(double threshold) {
  // Every float is a double, so a float above the double before `threshold` reaches it.
  return key_above(std::nextafter(threshold, -std::numeric_limits<double>::infinity()));
}

/// Returns |x| of a magnitude key.
THINPIPE_BOTH inline float magnitude_of(std::int32_t key) { return std::bit_cast<float>(key); }

}  // namespace thinpipe
