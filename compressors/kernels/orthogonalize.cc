// In the order of low_rank_order.h.
#include "compressors/kernels/orthogonalize.h"

#include <algorithm>
#include <array>
#include <bit>

#include "compressors/kernels/low_rank_order.h"

namespace thinpipe {
namespace {

double dot_of_stretch(const float* a, const float* b, std::size_t n) {
  std::array<double, kDotLanes> lanes{};
  for (std::size_t begin = 0; begin < n; begin += kDotLanes) {
    const std::size_t some = std::min(kDotLanes, n - begin);
    for (std::size_t i = 0; i < some; ++i)
      lanes[i] += static_cast<double>(a[begin + i]) * static_cast<double>(b[begin + i]);
  }
  // Lanes that nothing was dealt to are 0 and change nothing.
  for (std::size_t half = std::bit_ceil(std::min(n, kDotLanes)) / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

/// Of columns i >= k the products at [k * count + i].
void multiply_columns(std::span<const float> columns, std::size_t rows,
                      std::span<double> products) {
  const std::size_t count = columns.size() / rows;
  std::fill(products.begin(), products.end(), 0);
  for (std::size_t first = 0; first < rows; first += kDotStretch) {
    const std::size_t n = std::min(kDotStretch, rows - first);
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t i = k; i < count; ++i)
        products[k * count + i] +=
            dot_of_stretch(columns.data() + k * rows + first, columns.data() + i * rows + first, n);
  }
}

/// The products become the Cholesky factor below its diagonal, which `scales` has the inverse of.
void factor(std::span<double> products, std::span<double> scales) {
  const std::size_t count = scales.size();
  for (std::size_t k = 0; k < count; ++k) scales[k] = products[k * count + k];  // before
  for (std::size_t k = 0; k < count; ++k) {
    double* const shares = products.data() + k * count;
    scales[k] = unit_scale(scales[k], shares[k]);
    for (std::size_t i = k + 1; i < count; ++i) shares[i] *= scales[k];
    for (std::size_t m = k + 1; m < count; ++m)
      for (std::size_t i = m; i < count; ++i)
        products[m * count + i] = less_share(products[m * count + i], shares[m], shares[i]);
  }
}

/// Rows that stay in the first cache while shares are taken out of a column of them.
constexpr std::size_t kRowsAtOnce = 256;

void take_out_shares(std::span<float> columns, std::size_t rows, std::span<const double> shares,
                     std::span<const double> scales) {
  const std::size_t count = scales.size();
  std::array<double, kRowsAtOnce> left;
  for (std::size_t first = 0; first < rows; first += kRowsAtOnce) {
    const std::size_t n = std::min(kRowsAtOnce, rows - first);
    for (std::size_t k = 0; k < count; ++k) {
      float* const column = columns.data() + k * rows + first;
      for (std::size_t i = 0; i < n; ++i) left[i] = static_cast<double>(column[i]);
      for (std::size_t j = 0; j < k; ++j) {
        const float* const other = columns.data() + j * rows + first;
        const double share = shares[j * count + k];
        for (std::size_t i = 0; i < n; ++i)
          left[i] = less_share(left[i], share, static_cast<double>(other[i]));
      }
      for (std::size_t i = 0; i < n; ++i) column[i] = static_cast<float>(left[i] * scales[k]);
    }
  }
}

}  // namespace

std::size_t orthogonalize_room(std::size_t columns) { return columns * (columns + 1); }

void orthogonalize(std::span<float> columns, std::size_t rows, std::span<double> room) {
  if (rows == 0) return;
  const std::size_t count = columns.size() / rows;
  const std::span<double> products = room.first(count * count);
  const std::span<double> scales = room.subspan(count * count, count);
  for (std::size_t pass = 0; pass < orthogonalize_passes(count); ++pass) {
    multiply_columns(columns, rows, products);
    factor(products, scales);
    take_out_shares(columns, rows, products, scales);
  }
}

}  // namespace thinpipe
