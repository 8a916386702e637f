// The fast Walsh-Hadamard transform of blocks in shared memory, in stages from stride 1 up, as in
// kernels/hadamard-inl.h: bit for bit the same results.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/both.h"

namespace thinpipe::cuda {

/// Blocks of `block` elements, a power of two. The last block may have fewer, also a power of two.
struct Blocks {
  std::uint32_t block = 0;
  std::uint32_t elements = 0;

  /// Returns the elements of the block that contains element i.
  THINPIPE_BOTH std::uint32_t size_at(std::uint32_t i) const {
    const std::uint32_t begin = i & ~(block - 1);
    return elements - begin < block ? elements - begin : block;
  }
  /// Returns 1 / sqrt(size_at(i)), which makes the transform orthonormal. Both operations are
  /// rounded correctly.
  THINPIPE_BOTH float norm_at(std::uint32_t i) const {
    return 1.0F / std::sqrt(static_cast<float>(size_at(i)));
  }
};

/// Transforms all blocks without the factor 1 / sqrt(n).
template <class Block>
THINPIPE_KERNEL void hadamard_blocks(Block& block, float* values, const Blocks& blocks) {
  for (std::uint32_t stride = 1; stride < blocks.block; stride *= 2) {
    block.each([&](int t) {
      for (auto pair = static_cast<std::uint32_t>(t); pair < blocks.elements / 2;
           pair += Block::kSize) {
        const std::uint32_t low = (pair & ~(stride - 1)) * 2 + (pair & (stride - 1));
        if (stride >= blocks.size_at(low)) continue;
        const float a = values[low];
        const float b = values[low + stride];
        values[low] = a + b;
        values[low + stride] = a - b;
      }
    });
  }
}

}  // namespace thinpipe::cuda
