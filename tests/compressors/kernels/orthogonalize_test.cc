#include "compressors/kernels/orthogonalize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "compressors/kernels/low_rank_order.h"
#include "tests/compressors/support/inputs.h"

namespace thinpipe {
namespace {

double product_of(const std::vector<float>& columns, std::size_t rows, std::size_t a,
                  std::size_t b) {
  double sum = 0;
  for (std::size_t i = 0; i < rows; ++i)
    sum += static_cast<double>(columns[a * rows + i]) * static_cast<double>(columns[b * rows + i]);
  return sum;
}

std::vector<float> orthogonal(std::vector<float> columns, std::size_t rows) {
  std::vector<double> room(orthogonalize_room(columns.size() / rows), 1e300);
  orthogonalize(columns, rows, room);
  return columns;
}

void expect_orthonormal(const std::vector<float>& columns, std::size_t rows,
                        const std::vector<bool>& is_zero) {
  for (std::size_t a = 0; a < is_zero.size(); ++a)
    for (std::size_t b = 0; b <= a; ++b)
      ASSERT_NEAR(product_of(columns, rows, a, b), a == b && !is_zero[a] ? 1 : 0, 2e-6)
          << a << ' ' << b;
}

TEST(Orthogonalize, ColumnsAreOrthonormalOrZero) {
  constexpr std::size_t kRows = 50;
  auto columns = testing::heavy(4 * kRows, 1);
  for (std::size_t i = 0; i < kRows; ++i)  // the third depends on those before it
    columns[2 * kRows + i] = 2 * columns[i] - columns[kRows + i];
  expect_orthonormal(orthogonal(columns, kRows), kRows, {false, false, true, false});
}

// What Gram and Schmidt make of the first column is its direction, of each the signs stay: the
// factor's diagonal is positive.
TEST(Orthogonalize, SpansTheSameAsTheFirstColumnsInTheirOrder) {
  for (const std::size_t rows : {7UL, 256UL, 1000UL, 3 * kDotStretch + 5}) {
    SCOPED_TRACE(rows);
    constexpr std::size_t kCount = 6;
    const auto columns = testing::bell(kCount * rows, rows);
    const auto found = orthogonal(columns, rows);
    expect_orthonormal(found, rows, std::vector<bool>(kCount, false));
    for (std::size_t k = 0; k < kCount; ++k) {
      // c_k is what it has of q_0 ... q_k, the last of it positive.
      std::vector<double> left(columns.begin() + static_cast<std::ptrdiff_t>(k * rows),
                               columns.begin() + static_cast<std::ptrdiff_t>((k + 1) * rows));
      double share = 0, norm = 0;
      for (const double x : left) norm += x * x;
      for (std::size_t j = 0; j <= k; ++j) {
        share = 0;
        for (std::size_t i = 0; i < rows; ++i)
          share += left[i] * static_cast<double>(found[j * rows + i]);
        for (std::size_t i = 0; i < rows; ++i)
          left[i] -= share * static_cast<double>(found[j * rows + i]);
      }
      EXPECT_GT(share, 0);
      double rest = 0;
      for (const double x : left) rest += x * x;
      EXPECT_LT(std::sqrt(rest), 1e-5 * std::sqrt(norm)) << k;
    }
  }
}

// Shares of 1 to 1e-5 of a column are its own; a float has 6e-8.
TEST(Orthogonalize, ColumnsThatAreNearlyDependentAsWell) {
  constexpr std::size_t kRows = 5000;
  for (const double own : {1e-1, 1e-3, 1e-4, 1e-5}) {
    SCOPED_TRACE(own);
    auto columns = testing::bell(8 * kRows, 3);
    for (std::size_t k = 1; k < 8; ++k)
      for (std::size_t i = 0; i < kRows; ++i)
        columns[k * kRows + i] =
            static_cast<float>(static_cast<double>(columns[(k - 1) * kRows + i]) +
                               own * static_cast<double>(columns[k * kRows + i]));
    expect_orthonormal(orthogonal(columns, kRows), kRows, std::vector<bool>(8, false));
  }
}

TEST(Orthogonalize, WhateverTheColumnsLengths) {
  constexpr std::size_t kRows = 300;
  auto columns = testing::bell(3 * kRows, 5);
  for (std::size_t i = 0; i < kRows; ++i) {
    columns[i] *= 1e-30F;
    columns[kRows + i] *= 1e30F;
  }
  expect_orthonormal(orthogonal(columns, kRows), kRows, {false, false, false});
  expect_orthonormal(orthogonal(std::vector<float>(2 * kRows), kRows), kRows, {true, true});
  // More columns than rows: what is left of the others is noise.
  expect_orthonormal(orthogonal(testing::bell(5 * 3, 2), 3), 3, {false, false, false, true, true});
  std::vector<float> none;
  orthogonalize(none, 0, {});
}

}  // namespace
}  // namespace thinpipe
