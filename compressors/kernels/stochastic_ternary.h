// Stochastic rounding to three values, five to a byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/counter_random.h"

namespace thinpipe {

/// q = sign(c) where u * scale < |c|, else 0; u = counter_uniform() of the element: for
/// |c| <= scale, q is not 0 with probability |c| / scale. A NaN gives 0. Bytes and remainder are
/// those of ternary_pack(). @returns the number of q that are not 0.
std::size_t stochastic_ternary_pack(std::span<const float> c, float scale, RandomKey key,
                                    std::span<float> remainder, std::uint8_t* packed);

}  // namespace thinpipe
