// Stochastic rounding to equal levels, as codes of a few bits (QSGD, TernGrad).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/both.h"
#include "compressors/kernels/counter_random.h"

namespace thinpipe {

/// Levels on either side of 0 that codes of so many bits hold.
THINPIPE_BOTH constexpr int levels_of(int bits) { return (1 << (bits - 1)) - 1; }

/// Bytes of n codes.
THINPIPE_BOTH constexpr std::size_t packed_size(std::size_t n, int bits) {
  return (n * static_cast<std::size_t>(bits) + 7) / 8;
}

/// How elements become codes. With y = min(|c| * (1 / step), levels_of(bits)), rounded to a
/// multiple of 2^(bits - 24), and u = paired_random() of the element without its lower 8 + bits
/// bits, as a fraction: level = floor(y + u), which never exceeds levels_of(bits). What is not
/// finite becomes 0, and so does everything where step is 0. A code is the level, with the bit
/// above it set where c < 0 and the level is not 0. `step` is one of level_step().
struct LevelRounding {
  int bits = 2;           ///< of a code, 2 to 8
  RandomKey key = {};     ///< of the tensor and step
  std::size_t first = 0;  ///< the tensor's element that c begins with
};

/// packed_size() bytes: n codes, lowest bit first; the last byte is filled with zeros. Where
/// `remainder` is not empty it becomes c - decoded (0 where not finite); it may be the same array
/// as c. @returns the number of levels that are not 0.
std::size_t pack_levels(std::span<const float> c, float step, const LevelRounding& rounding,
                        std::span<float> remainder, std::uint8_t* packed);

/// The same codes, a byte each.
std::size_t stochastic_levels(std::span<const float> c, float step, const LevelRounding& rounding,
                              std::span<float> remainder, std::uint8_t* codes);

/// What the levels of a bucket reach up to.
enum class LevelRange { kMax, kNorm };

/// Buckets of `bucket` elements, the last may have fewer: each the level_step() of its greatest
/// magnitude or of l2_norm() as a 32-bit float, then packed_size() bytes.
std::size_t pack_level_buckets(std::span<const float> c, std::size_t bucket, LevelRange range,
                               const LevelRounding& rounding, std::span<float> remainder,
                               std::uint8_t* packed);

/// The L2 norm, finite; 0 for an array with a NaN. By fixed partial sums: the same bits on every
/// machine.
float l2_norm(std::span<const float> c);

/// out += +-step * level. @returns false where the last byte is not filled with zeros.
bool add_packed_levels(const std::uint8_t* packed, float step, int bits, std::span<float> out);

}  // namespace thinpipe
