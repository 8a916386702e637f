// Sums of arrays of 16-bit floats, as an all-reduce makes them.
#pragma once

#include <cstdint>
#include <span>

#include "compressors/encode/half.h"

namespace thinpipe {

/// out = (a + b) * scale in 32 bits, rounded once to the nearest 16-bit float, ties to even, as
/// NCCL adds (to_half_or_infinity). All of one size; `out` may be `a` or `b`. On the calling thread
/// alone.
void half_add(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b, float scale,
              HalfFormat format, std::span<std::uint16_t> out);

/// out = a * scale, rounded likewise. @returns false where an element of `a` is the greatest finite
/// number, infinite or NaN: it may stand for something greater that did not fit.
bool half_scale(std::span<const std::uint16_t> a, float scale, HalfFormat format,
                std::span<std::uint16_t> out);

/// Whether no element is the greatest finite number, infinite or NaN.
bool half_fits(std::span<const std::uint16_t> a, HalfFormat format);

}  // namespace thinpipe
