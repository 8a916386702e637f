// Three-valued quantisation, five values to a byte (3LC sections 3.1 and 3.2).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "base/both.h"

namespace thinpipe {

/// Bytes for `elements` ternary values: the length of each of the five partitions.
THINPIPE_BOTH constexpr std::size_t quartic_size(std::size_t elements) { return (elements + 4) / 5; }

/// Bytes from 0 on all of whose five elements exist. A byte after them has a digit 0 that stands
/// for none.
THINPIPE_BOTH constexpr std::size_t full_quartic_bytes(std::size_t elements) {
  const std::size_t before_last = 4 * quartic_size(elements);
  return elements > before_last ? elements - before_last : 0;
}

/// What decoded values are multiples of. A product that overflows, an infinity or a NaN would make
/// every decoded value infinite or NaN: at most the greatest float.
THINPIPE_BOTH inline float ternary_scale(float sparsity, float max_magnitude) {
  const float scale = sparsity * max_magnitude;
  return std::isfinite(scale) ? scale : std::numeric_limits<float>::max();
}

/// The byte of five zeros.
constexpr std::uint8_t kQuarticZero = 121;
/// The greatest byte that five ternary values make.
constexpr std::uint8_t kQuarticMax = 242;

/// q = round(c / scale) limited to {-1, 0, 1}, halves away from zero; NaN gives 0, scale = 0 gives
/// 0 everywhere. Byte i of `packed` (quartic_size bytes) holds q + 1 of elements i, i + L, ...,
/// i + 4 L with weights 81, 27, 9, 3, 1, L = quartic_size; elements past the end count as digit 0.
/// Where `remainder` is not empty, it becomes c - scale * q (0 where that is not finite); it may be
/// the same array as c. @returns the number of q that are not 0.
std::size_t ternary_pack(std::span<const float> c, float scale, std::span<float> remainder,
                         std::uint8_t* packed);

/// Buckets of `bucket` elements, the last may have fewer: for each ternary_scale() of its greatest
/// magnitude, a 32-bit float at `scales`, and ternary_pack() of it, one after the other at
/// `packed`.
std::size_t ternary_pack_buckets(std::span<const float> c, std::size_t bucket, float sparsity,
                                 std::span<float> remainder, std::uint8_t* scales,
                                 std::uint8_t* packed);

/// out[i] += value * q[i] for the bytes packed[0 ... count) that start at byte `first` of an array
/// packed from out.size() elements. Bytes must be at most kQuarticMax.
/// @returns false when a digit past the end of `out` is not 0.
bool ternary_unpack_add(const std::uint8_t* packed, std::size_t count, std::size_t first,
                        float value, std::span<float> out);

}  // namespace thinpipe
