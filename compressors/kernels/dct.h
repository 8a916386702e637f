// The discrete cosine transform of many short lines at once, the same bits for every vector width.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

#include "base/both.h"

namespace thinpipe {

/// The longest line.
constexpr std::size_t kMaxDct = 64;

/// Where the cosines of lines of n = 2, 4 ... kMaxDct elements begin: cos(pi (2i + 1)(2k + 1) /
/// (2n)), k and i under n/2, n/2 to a row.
THINPIPE_BOTH constexpr std::size_t first_cosine(std::size_t n) { return (n / 2) * (n / 2) / 3; }
/// All of them.
std::span<const float> dct_cosines();

/// No gradient reaches it and no transform of it overflows.
constexpr float kMostDctInput = 0x1p100F;
THINPIPE_BOTH inline float dct_input(float x) {
  return std::isnan(x)        ? 0.0F
         : x < -kMostDctInput ? -kMostDctInput
         : x > kMostDctInput  ? kMostDctInput
                              : x;
}

/// Lines in an array: line l has its elements at base[l * line_step + i * step].
struct Lines {
  float* base = nullptr;
  std::size_t count = 0;
  std::size_t line_step = 0;
  std::size_t length = 0;  ///< a power of two, 1 to kMaxDct
  std::size_t step = 1;
};

/// Every line x becomes its orthonormal DCT-II: X[k] = w_k sum_i x[i] cos(pi (2i + 1) k / (2n)),
/// w_0 = sqrt(1/n), w_k = sqrt(2/n). Cosines are the C library's, rounded from double to float.
void dct(const Lines& lines);

/// The inverse (DCT-III), which is the transpose.
void inverse_dct(const Lines& lines);

}  // namespace thinpipe
