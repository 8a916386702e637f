// The two levels of a group of values (int2), by sums in an order that a GPU's threads keep as
// well.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/both.h"
#include "compressors/encode/scale.h"

namespace thinpipe {

/// Values of a group.
constexpr std::size_t kInt2Group = 512;
/// Sums that a group's values are dealt out to, one after the other; these are added up in order.
constexpr std::size_t kInt2Lanes = 64;

/// |x|; a NaN counts as 0 and an infinity as the greatest float, so that sums stay numbers.
THINPIPE_BOTH inline double int2_magnitude(float x) {
  return std::fabs(static_cast<double>(finite(static_cast<double>(x))));
}

/// What a group's values are coded by. All magnitudes are finite.
struct Int2Levels {
  double mean = 0;  ///< of all magnitudes
  float low = 0;    ///< of those below it
  float high = 0;   ///< of the others

  /// Bit 0: the higher level; bit 1: negative.
  THINPIPE_BOTH std::uint32_t code(float x) const {
    return (int2_magnitude(x) < mean ? 0U : 1U) | (x < 0 ? 2U : 0U);
  }
  THINPIPE_BOTH float value(std::uint32_t code) const {
    const float magnitude = (code & 1) != 0 ? high : low;
    return (code & 2) != 0 ? -magnitude : magnitude;
  }
};

/// What a level's values add up to.
struct Int2Sum {
  double sum = 0;
  std::uint32_t count = 0;

  THINPIPE_BOTH void add(const Int2Sum& other) {
    sum += other.sum;
    count += other.count;
  }
  THINPIPE_BOTH float mean() const {
    return count == 0 ? 0.0F : finite(sum / static_cast<double>(count));
  }
};

}  // namespace thinpipe
