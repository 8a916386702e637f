// counter_random() and paired_random() in vectors, as the quantisers draw them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/kernels/random.h"

namespace thinpipe {

/// Sets out[i] = counter_random(key, first + i).
void fill_random(RandomKey key, std::uint32_t first, std::size_t n, std::uint32_t* out);
/// Sets out[i] = paired_random(key, first + i).
void fill_paired_random(RandomKey key, std::size_t first, std::size_t n, std::uint32_t* out);

}  // namespace thinpipe
