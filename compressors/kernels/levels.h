// Stochastic rounding to equal levels, as codes of a few bits (QSGD, TernGrad).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/counter_random.h"

namespace thinpipe {

/// Levels on either side of 0 that codes of so many bits hold.
constexpr int levels_of(int bits) { return (1 << (bits - 1)) - 1; }

/// level = floor(|c| * (1 / step) + u), at most levels_of(bits); u = counter_uniform() of element
/// `first` + i. What is not finite becomes 0, and so does everything where step is 0. A code is the
/// level, with the bit above it set where c < 0 and the level is not 0. Where `remainder` is not
/// empty it becomes c - decoded (0 where not finite); it may be the same array as c. `step` is one
/// of level_step(). @returns the number of levels that are not 0.
std::size_t stochastic_levels(std::span<const float> c, float step, int bits, RandomKey key,
                              std::size_t first, std::span<float> remainder, std::uint8_t* codes);

/// out += +-step * level; codes of at most `bits` bits.
void add_levels(const std::uint8_t* codes, float step, int bits, std::span<float> out);

/// Bytes of n codes.
constexpr std::size_t packed_size(std::size_t n, int bits) {
  return (n * static_cast<std::size_t>(bits) + 7) / 8;
}

/// n codes of `bits` (1 to 8) bits each, lowest bit first; the last byte is filled with zeros.
void pack_codes(const std::uint8_t* codes, std::size_t n, int bits, std::uint8_t* packed);

/// @returns false where the last byte is not filled with zeros.
bool unpack_codes(const std::uint8_t* packed, std::size_t n, int bits, std::uint8_t* codes);

}  // namespace thinpipe
