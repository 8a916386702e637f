// The orthonormal fast Walsh-Hadamard transform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/random.h"

namespace thinpipe {

/// x becomes H x / sqrt(n), H the n x n Walsh-Hadamard matrix in natural order: its own inverse.
/// n = x.size() is a power of two, at least 16; x is aligned to 64 bytes. The same bits on every
/// machine.
void hadamard(std::span<float> x);

/// Fills `bits` with 0 or 2^31: signs that all who know the seed flip alike.
inline void random_signs(std::uint64_t seed, std::span<std::uint32_t> bits) {
  SplitMix64 random(seed);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (i % 64 == 0) word = random.next();
    bits[i] = static_cast<std::uint32_t>(word >> (i % 64) & 1U) << 31;
  }
}

}  // namespace thinpipe
