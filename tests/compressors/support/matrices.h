// Products of matrices and the cosine transform by their definitions, in doubles.
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "tests/compressors/support/inputs.h"

namespace thinpipe::testing {

using Matrix = std::vector<std::vector<double>>;  // rows

inline Matrix transposed(const Matrix& a) {
  Matrix result(a[0].size(), std::vector<double>(a.size()));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a[i].size(); ++j) result[j][i] = a[i][j];
  }
  return result;
}

inline Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.size(), std::vector<double>(b[0].size(), 0.0));
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      for (std::size_t j = 0; j < b[k].size(); ++j) result[i][j] += a[i][k] * b[k][j];
    }
  }
  return result;
}

/// The orthonormal cosine transform of n values: a row has the coefficients of one frequency.
inline Matrix dct_matrix(std::size_t n) {
  const auto size = static_cast<double>(n);
  Matrix result(n, std::vector<double>(n));
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t i = 0; i < n; ++i) {
      result[k][i] = std::sqrt((k == 0 ? 1 : 2) / size) *
                     std::cos(std::numbers::pi * (2.0 * static_cast<double>(i) + 1) *
                              static_cast<double>(k) / (2 * size));
    }
  }
  return result;
}

/// A matrix of that rank, row by row.
inline std::vector<float> low_rank_matrix(std::size_t rows, std::size_t columns, std::size_t rank) {
  const auto a = bell(rows * rank, 1);
  const auto b = bell(columns * rank, 2);
  std::vector<float> m(rows * columns, 0.0F);
  for (std::size_t i = 0; i < m.size(); ++i) {
    for (std::size_t k = 0; k < rank; ++k) {
      m[i] += a[i / columns * rank + k] * b[i % columns * rank + k];
    }
  }
  return m;
}

}  // namespace thinpipe::testing
