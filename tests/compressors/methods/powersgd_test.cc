// Orthonormal columns, and PowerSGD on one worker.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "compressors/kernels/transforms.h"
#include "compressors/methods/quantizers.h"
#include "compressors/registry.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/matrices.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::distance_of;
using testing::encode;
using testing::low_rank_matrix;
using testing::norm_of;
using testing::sent_values;

double product_of(const std::vector<float>& columns, std::size_t rows, std::size_t a,
                  std::size_t b) {
  double sum = 0;
  for (std::size_t i = 0; i < rows; ++i)
    sum += static_cast<double>(columns[a * rows + i]) * static_cast<double>(columns[b * rows + i]);
  return sum;
}

std::vector<float> orthogonal(std::vector<float> columns, std::size_t rows) {
  std::vector<double> workspace(orthogonalize_workspace(columns.size() / rows), 1e300);
  orthogonalize(columns, rows, workspace);
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

// Gram-Schmidt keeps the first column's direction and each column's sign: the factor's diagonal is
// positive.
TEST(Orthogonalize, SpansTheSameAsTheFirstColumnsInTheirOrder) {
  for (const std::size_t rows : {7UL, 256UL, 1000UL, 3 * kDotStretch + 5}) {
    SCOPED_TRACE(rows);
    constexpr std::size_t kCount = 6;
    const auto columns = testing::bell(kCount * rows, rows);
    const auto found = orthogonal(columns, rows);
    expect_orthonormal(found, rows, std::vector<bool>(kCount, false));
    for (std::size_t k = 0; k < kCount; ++k) {
      // c_k is its sum of components along q_0 ... q_k, the last of them positive.
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

// Fractions of 1 to 1e-5 of a column are its own; a float has 6e-8.
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
  // More columns than rows: the remainder of the others is noise.
  expect_orthonormal(orthogonal(testing::bell(5 * 3, 2), 3), 3, {false, false, false, true, true});
  std::vector<float> none;
  orthogonalize(none, 0, {});
}

std::unique_ptr<Compressor> made(const std::string& spec, std::vector<std::int64_t> shape,
                                 int rank = 0) {
  return testing::make_of_shape(spec, std::move(shape), {.seed = 4, .rank = rank});
}

TEST(PowerSgd, PayloadIsBothFactors) {
  EXPECT_EQ(made("powersgd", {30, 5, 4})->max_encoded_size(), 4U * (30 + 20) * 4);
  EXPECT_EQ(made("powersgd:rank=1", {30, 20})->max_encoded_size(), 50U * 4);
  // Fewer than two dimensions, or no gain: the array itself.
  EXPECT_EQ(made("powersgd", {30})->max_encoded_size(), 30U * 4);
  EXPECT_EQ(made("powersgd", {8, 8})->max_encoded_size(), 64U * 4);
  EXPECT_EQ(made("powersgd", {})->max_encoded_size(), 4U);
  EXPECT_EQ(made("powersgd", {0, 8})->max_encoded_size(), 0U);
  const std::vector<float> small = {1, 2, 3};
  EXPECT_EQ(sent_values(*made("powersgd", {3}), small), small);
}

TEST(PowerSgd, IsExactForMatricesOfItsRank) {
  for (std::size_t rank : {1UL, 2UL, 4UL}) {
    const auto m = low_rank_matrix(60, 40, rank);
    const auto decoded = sent_values(*made("powersgd:memory=none", {60, 40}), m);
    EXPECT_LT(distance_of(decoded, m), 1e-5 * norm_of(m)) << rank;
  }
}

TEST(PowerSgd, WarmStartComesToTheBestApproximation) {
  // The input is a matrix of rank 2 plus a little noise. The error of the best rank-2 approximation
  // is at most the noise.
  auto m = low_rank_matrix(60, 40, 2);
  const auto noise = testing::bell(m.size(), 9);
  for (std::size_t i = 0; i < m.size(); ++i) m[i] += 0.05F * noise[i];
  const auto warm = made("powersgd:memory=none,rank=2", {60, 40});
  const auto cold = made("powersgd:memory=none,rank=2,warm=false", {60, 40});
  double first = 0;
  double last = 0;
  for (std::uint64_t step = 0; step < 10; ++step) {
    last = distance_of(sent_values(*warm, m, step), m);
    if (step == 0) first = last;
    const double without = distance_of(sent_values(*cold, m, step), m);
    if (step == 0) {
      EXPECT_DOUBLE_EQ(without, first);
    }
  }
  EXPECT_LT(last, first);
  EXPECT_LE(last, 0.05 * norm_of(noise));
}

// With one Q for all steps, error feedback would never send what is orthogonal to it.
TEST(PowerSgd, WithoutWarmStartErrorFeedbackSendsEverything) {
  const auto m = low_rank_matrix(12, 10, 6);
  const auto compressor = made("powersgd:rank=2,warm=false", {12, 10});
  std::vector<double> sent(m.size());
  constexpr int kSteps = 200;
  for (std::uint64_t step = 0; step < kSteps; ++step) {
    const auto decoded = sent_values(*compressor, m, step);
    for (std::size_t i = 0; i < m.size(); ++i) sent[i] += static_cast<double>(decoded[i]);
  }
  // The sum of what was sent is the sum of the gradients less the residual, which stays bounded.
  std::vector<float> mean(m.size());
  for (std::size_t i = 0; i < m.size(); ++i) mean[i] = static_cast<float>(sent[i] / kSteps);
  EXPECT_LT(distance_of(mean, m), 0.1 * norm_of(m));
}

TEST(PowerSgd, FirstFactorIsTheSameForAllWorkers) {
  const auto m = low_rank_matrix(30, 40, 6);
  const auto a = made("powersgd", {30, 40}, 0);
  const auto b = made("powersgd", {30, 40}, 1);
  EXPECT_EQ(encode(*a, m).payload, encode(*b, m).payload);
}

TEST(PowerSgd, ComesBackFromZerosAndFromNumbersThatAreNone) {
  const auto m = low_rank_matrix(30, 40, 3);
  for (float bad : {0.0F, testing::kNan, testing::kInfinity, 3e38F}) {
    const auto compressor = made("powersgd:memory=none", {30, 40});
    std::vector<float> nothing(m.size(), 0.0F);
    nothing[17] = bad;
    nothing[18] = bad;
    for (float value : sent_values(*compressor, nothing)) ASSERT_TRUE(std::isfinite(value));
    EXPECT_LT(distance_of(sent_values(*compressor, m), m), 1e-5 * norm_of(m));
  }
}

TEST(PowerSgd, RefusesNumbersThatAreNone) {
  const auto compressor = made("powersgd", {30, 40});
  const auto payload = encode(*compressor, low_rank_matrix(30, 40, 4)).payload;
  for (std::size_t at : {0UL, 30UL * 4, payload.size() / 4 - 1}) {
    auto damaged = payload;
    std::memcpy(damaged.data() + at * 4, &testing::kInfinity, 4);
    EXPECT_THROW(decode(*compressor, damaged), PayloadError) << at;
  }
}

}  // namespace
}  // namespace thinpipe
