// The discrete cosine transform of many short lines by one thread block, bit for bit that of
// compressors/kernels/dct.cc.
#pragma once

#include <cstdint>

#include "base/both.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/kernels/transforms.h"

namespace thinpipe::cuda {

/// Division of kTile numbers into lines of 2^bits elements, with a stride of 2^apart. For rows,
/// apart is 0; for the columns of a matrix, 2^apart is the number of columns.
struct DctLines {
  std::uint32_t bits = 0;
  std::uint32_t apart = 0;
  float first = 1;   ///< sqrt(1/n)
  float others = 1;  ///< sqrt(2/n)

  /// Returns the index of element i of a line.
  THINPIPE_BOTH std::uint32_t index(std::uint32_t line, std::uint32_t i) const {
    return (line >> apart << (apart + bits)) + (line & ((std::uint32_t{1} << apart) - 1)) +
           (i << apart);
  }
  /// Returns the weight of the coefficient at index `at`.
  THINPIPE_BOTH float weight(std::uint32_t at) const {
    return (at >> apart & ((std::uint32_t{1} << bits) - 1)) == 0 ? first : others;
  }
  /// Calls body(line, i) for thread t's elements, out of all i < 2^some of all lines.
  template <class Body>
  THINPIPE_KERNEL void each(int t, int threads, std::uint32_t some, Body body) const {
    const std::uint32_t lines = kTile >> bits;
    for (auto at = static_cast<std::uint32_t>(t); at < lines << some;
         at += static_cast<std::uint32_t>(threads)) {
      // Consecutive threads read consecutive addresses: within a line, or of adjacent lines.
      if (apart == 0) {
        body(at >> some, at & ((std::uint32_t{1} << some) - 1));
      } else {
        body(at % lines, at / lines);
      }
    }
  }
};

/// Transforms the lines of x. All threads of a block take part.
/// @param other  workspace of the same size
/// @returns x or other, whichever holds the result
template <class Block>
THINPIPE_KERNEL float* dct(Block& block, const DctLines& lines, const float* cosines, float* x,
                           float* other) {
  if (lines.bits == 0) return x;
  // The lower of two mirrored elements becomes their sum, the upper one their difference.
  for (std::uint32_t level = lines.bits; level > 0; --level) {
    const std::uint32_t half = std::uint32_t{1} << (level - 1);
    block.each([&](int t) {
      lines.each(t, Block::kSize, level - 1, [&](std::uint32_t line, std::uint32_t i) {
        float& low = x[lines.index(line, i)];
        float& high = x[lines.index(line, 2 * half - 1 - i)];
        const float a = low;
        const float b = high;
        low = a + b;
        high = a - b;
      });
    });
    const float* const matrix = cosines + first_cosine(std::size_t{2} * half);
    block.each([&](int t) {
      lines.each(t, Block::kSize, level - 1, [&](std::uint32_t line, std::uint32_t k) {
        float sum = 0;
        // The matrix is symmetric, so that consecutive threads read consecutive addresses.
        for (std::uint32_t i = 0; i < half; ++i) {
          const float product = x[lines.index(line, 2 * half - 1 - i)] * matrix[i * half + k];
          sum = sum + product;
        }
        other[lines.index(line, (2 * k + 1) << (lines.bits - level))] = sum * lines.others;
      });
    });
  }
  block.each([&](int t) {
    lines.each(t, Block::kSize, 0, [&](std::uint32_t line, std::uint32_t i) {
      other[lines.index(line, i)] = x[lines.index(line, i)] * lines.first;
    });
  });
  return other;
}

/// The inverse transform, with the same arguments.
template <class Block>
THINPIPE_KERNEL float* inverse_dct(Block& block, const DctLines& lines, const float* cosines,
                                   float* x, float* other) {
  if (lines.bits == 0) return x;
  block.each([&](int t) {
    for (auto at = static_cast<std::uint32_t>(t); at < kTile; at += Block::kSize)
      x[at] = x[at] * lines.weight(at);
  });
  block.each([&](int t) {
    lines.each(t, Block::kSize, 0, [&](std::uint32_t line, std::uint32_t i) {
      other[lines.index(line, i)] = x[lines.index(line, i)];
    });
  });
  for (std::uint32_t level = 1; level <= lines.bits; ++level) {
    const std::uint32_t half = std::uint32_t{1} << (level - 1);
    const float* const matrix = cosines + first_cosine(std::size_t{2} * half);
    block.each([&](int t) {
      lines.each(t, Block::kSize, level - 1, [&](std::uint32_t line, std::uint32_t i) {
        float sum = 0;
        for (std::uint32_t k = 0; k < half; ++k) {
          const float product =
              x[lines.index(line, (2 * k + 1) << (lines.bits - level))] * matrix[k * half + i];
          sum = sum + product;
        }
        float& low = other[lines.index(line, i)];
        const float even = low;
        low = even + sum;
        other[lines.index(line, 2 * half - 1 - i)] = even - sum;
      });
    });
  }
  return other;
}

}  // namespace thinpipe::cuda
