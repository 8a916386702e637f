// Stochastic rounding to powers of two (natural compression).
#pragma once

#include <cstdint>
#include <span>

#include "compressors/kernels/counter_random.h"

namespace thinpipe {

/// |c| = 2^e (1 + m) becomes 2^(e+1) with probability m, else 2^e: exponents[i] is the biased
/// exponent of a binary32, 0 standing for 0 (a denormal becomes 2^-126 with probability
/// |c| / 2^-126). At most 254: an infinity and what would be rounded to one become 2^127; a NaN
/// becomes 0. Bit i of `signs` is the sign bit of c[i]. Where `remainder` is not empty it becomes
/// c - decoded (0 where not finite); it may be the same array as c.
void natural_pack(std::span<const float> c, RandomKey key, std::span<float> remainder,
                  std::uint8_t* exponents, std::uint8_t* signs);

/// out += factor * decoded. @returns false where an exponent is 255.
bool natural_unpack_add(const std::uint8_t* exponents, const std::uint8_t* signs, float factor,
                        std::span<float> out);

}  // namespace thinpipe
