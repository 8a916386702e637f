// Elias's omega codes (wire/bits.h) of numbers below 2^31.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/laid_positions.h"
#include "compressors/cuda/kernels/lanes.h"

namespace thinpipe::cuda {

/// Returns the bits of the code of n >= 1.
THINPIPE_KERNEL inline std::uint32_t omega_bits(std::uint32_t n) {
  std::uint32_t bits = 1;
  for (; n > 1; n = highest(n)) bits += highest(n) + 1;
  return bits;
}

/// Writes the code of n >= 1 to bits that are 0. @returns its length in bits
template <class Block>
THINPIPE_KERNEL std::uint32_t put_omega(Block& block, std::uint32_t* words, std::uint64_t bit,
                                        std::uint32_t n) {
  const std::uint32_t bits = omega_bits(n);
  // The last bit of the code is 0. The loop writes the groups of bits before it in reverse order,
  // beginning with the last group, which is n itself.
  for (std::uint32_t end = bits - 1; n > 1; n = highest(n)) {
    const std::uint32_t size = highest(n) + 1;
    std::uint32_t turned = 0;  // highest bit first
    for (std::uint32_t i = 0; i < size; ++i) turned |= (n >> i & 1) << (size - 1 - i);
    end -= size;
    lay(block, words, bit + end, turned);
  }
  return bits;
}

/// Reads a code.
/// @param bits_at  bits_at(bit) returns 32 bits from bit `bit`, 0 after the end
/// @returns its length in bits; 0: not a code of a number up to `most` < 2^31
template <class BitsAt>
THINPIPE_KERNEL std::uint32_t get_omega(BitsAt bits_at, std::uint64_t bit, std::uint32_t most,
                                        std::uint32_t& n) {
  n = 1;
  std::uint32_t bits = 0;
  for (;;) {
    std::uint32_t window = bits_at(bit + bits);
    if ((window & 1) == 0) break;
    if (n > 30) return 0;
    // The n bits of the group after its leading 1, highest first.
    window >>= 1;
    std::uint32_t group = 1;
    for (std::uint32_t i = 0; i < n; ++i) group = group << 1 | (window >> i & 1);
    bits += 1 + n;
    n = group;
  }
  return n > most ? 0 : bits + 1;
}

}  // namespace thinpipe::cuda
