#include "compressors/quantize/powersgd.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "compressors/registry.h"
#include "tests/compressors/support/accounts.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;

std::unique_ptr<Compressor> made(const std::string& spec, std::vector<std::int64_t> shape,
                                 int rank = 0) {
  std::size_t elements = 1;
  for (std::int64_t side : shape) elements *= static_cast<std::size_t>(side);
  return make_compressor(parse_spec(spec),
                         {.name = "w", .shape = std::move(shape), .elements = elements},
                         {.seed = 4, .rank = rank});
}

double norm_of(std::span<const float> x) {
  double sum = 0;
  for (float value : x) sum += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(sum);
}

double distance_of(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> difference(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) difference[i] = a[i] - b[i];
  return norm_of(difference);
}

/// A matrix of that rank.
std::vector<float> matrix(std::size_t rows, std::size_t columns, std::size_t rank) {
  const auto a = testing::bell(rows * rank, 1);
  const auto b = testing::bell(columns * rank, 2);
  std::vector<float> m(rows * columns, 0.0F);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      for (std::size_t k = 0; k < rank; ++k) {
        m[i * columns + j] += a[i * rank + k] * b[j * rank + k];
      }
    }
  }
  return m;
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
  const auto dense = made("powersgd", {3});
  EXPECT_EQ(decode(*dense, encode(*dense, small).payload), small);
}

TEST(PowerSgd, IsExactForMatricesOfItsRank) {
  for (std::size_t rank : {1UL, 2UL, 4UL}) {
    const auto m = matrix(60, 40, rank);
    const auto compressor = made("powersgd:memory=none", {60, 40});
    const auto decoded = decode(*compressor, encode(*compressor, m).payload);
    EXPECT_LT(distance_of(decoded, m), 1e-5 * norm_of(m)) << rank;
  }
}

TEST(PowerSgd, WarmStartComesToTheBestApproximation) {
  // A matrix of rank 2 with a little of another: the best rank-2 error is at most what was added.
  auto m = matrix(60, 40, 2);
  const auto noise = testing::bell(m.size(), 9);
  for (std::size_t i = 0; i < m.size(); ++i) m[i] += 0.05F * noise[i];
  const auto warm = made("powersgd:memory=none,rank=2", {60, 40});
  const auto cold = made("powersgd:memory=none,rank=2,warm=false", {60, 40});
  double first = 0;
  double last = 0;
  for (std::uint64_t step = 0; step < 10; ++step) {
    last = distance_of(decode(*warm, encode(*warm, m, step).payload), m);
    if (step == 0) first = last;
    EXPECT_DOUBLE_EQ(distance_of(decode(*cold, encode(*cold, m, step).payload), m), first);
  }
  EXPECT_LT(last, first);
  EXPECT_LE(last, 0.05 * norm_of(noise));
}

TEST(PowerSgd, InputsAreDecodedOrStillInTheResidual) {
  constexpr std::size_t kElements = 60UL * 40UL;
  const auto compressor = made("powersgd:rank=2", {60, 40});
  const testing::Accounts accounts(*compressor, 100);
  // Before the floats of q, at the end of the state.
  const auto residual = testing::floats_of_state(*compressor, kElements, 2UL * 40 * sizeof(float));
  accounts.expect_balance(residual);
}

TEST(PowerSgd, FirstFactorIsTheSameForAllWorkers) {
  const auto m = matrix(30, 40, 6);
  const auto a = made("powersgd", {30, 40}, 0);
  const auto b = made("powersgd", {30, 40}, 1);
  EXPECT_EQ(encode(*a, m).payload, encode(*b, m).payload);
}

TEST(PowerSgd, ComesBackFromZerosAndFromNumbersThatAreNone) {
  const auto m = matrix(30, 40, 3);
  for (float bad : {0.0F, std::nanf(""), std::numeric_limits<float>::infinity(), 3e38F}) {
    const auto compressor = made("powersgd:memory=none", {30, 40});
    std::vector<float> nothing(m.size(), 0.0F);
    nothing[17] = bad;
    nothing[18] = bad;
    const auto decoded = decode(*compressor, encode(*compressor, nothing).payload);
    for (float value : decoded) ASSERT_TRUE(std::isfinite(value));
    EXPECT_LT(distance_of(decode(*compressor, encode(*compressor, m).payload), m),
              1e-5 * norm_of(m));
  }
}

TEST(PowerSgd, RefusesNumbersThatAreNone) {
  const auto compressor = made("powersgd", {30, 40});
  const auto payload = encode(*compressor, matrix(30, 40, 4)).payload;
  for (std::size_t at : {0UL, 30UL * 4, payload.size() / 4 - 1}) {
    auto damaged = payload;
    const float infinity = std::numeric_limits<float>::infinity();
    std::memcpy(damaged.data() + at * 4, &infinity, 4);
    EXPECT_THROW(decode(*compressor, damaged), PayloadError) << at;
  }
}

}  // namespace
}  // namespace thinpipe
