// Rounding to 255 equal levels, and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thinpipe {

/// The greatest |x| by bits (NaN > infinity > finite); 0 when empty.
float max_magnitude(std::span<const float> x);

/// codes[i] = c[i] * (1 / step) rounded, ties to even, limited to +-127; what is not finite becomes
/// 0, and so does everything where step is 0. Where `remainder` is not empty it becomes
/// c - step * code, 0 where that is not finite; it may be the same array as c.
/// @param step  level_step() of 127 levels of c's greatest magnitude, or of a greater one
/// @returns the number of codes that are not 0
std::size_t int8_quantize(std::span<const float> c, float step, std::span<float> remainder,
                          std::int8_t* codes);

/// Buckets of `bucket` elements, the last may have fewer: each level_step() of 127 levels of its
/// greatest magnitude as a 32-bit float, then its codes.
std::size_t int8_buckets(std::span<const float> c, std::size_t bucket, std::span<float> remainder,
                         std::uint8_t* out);

/// out += step * code
void int8_add(const std::int8_t* codes, float step, std::span<float> out);

}  // namespace thinpipe
