// Random numbers by counter and key, and functions that are exact on every machine.
#include "compressors/kernels/random.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compressors/kernels/exact_math.h"
#include "compressors/select/distributions.h"
#include "tests/compressors/support/gamma.h"
#include "tests/compressors/support/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/compressors/kernels/random_test.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/counter_random-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// The generator alone, so that tests see the vectors of the quantisers.

/// Sets out[i] = counter_random(key, first + i).
void Fill(RandomKey key, std::uint32_t first, std::size_t n, std::uint32_t* out) {
  ForEachVector(n, [&](auto d, std::size_t i) {
    const hn::RebindToUnsigned<decltype(d)> du;
    hn::StoreU(CounterRandom(du, key, first + i), du, out + i);
  });
}

/// Sets out[i] = paired_random(key, first + i).
void FillPaired(RandomKey key, std::size_t first, std::size_t n, std::uint32_t* out) {
  ForEachRandom(n, key, first, [&](auto d, std::size_t i, auto random) HWY_ATTR {
    const hn::RebindToUnsigned<decltype(d)> du;
    hn::StoreU(random, du, out + i);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Fill);
HWY_EXPORT(FillPaired);

constexpr std::size_t kCount = 1 << 16;

std::vector<double> uniforms(RandomKey key) {
  std::vector<double> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    values[i] = static_cast<double>(counter_uniform(key, static_cast<std::uint32_t>(i)));
  }
  return values;
}

/// Returns, for uniform numbers a and b, the mean of (a - 1/2)(b - 1/2) divided by the mean's
/// standard deviation, 1 / (12 sqrt(n)).
double correlation_sigmas(const std::vector<double>& a, const std::vector<double>& b,
                          std::size_t shift = 0) {
  double sum = 0;
  const std::size_t n = a.size() - shift;
  for (std::size_t i = 0; i < n; ++i) sum += (a[i] - 0.5) * (b[i + shift] - 0.5);
  return sum / static_cast<double>(n) * 12 * std::sqrt(static_cast<double>(n));
}

TEST(CounterRandom, VectorsDrawTheSameNumbers) {
  const RandomKey key = random_key(random_stream(1, 0, "layer"), 3);
  for (std::uint32_t first : {0U, 7U, 0xfffffff0U}) {
    for (std::size_t n : {0UL, 1UL, 5UL, 1003UL}) {
      std::vector<std::uint32_t> expected;
      for (std::size_t i = 0; i < n; ++i) {
        expected.push_back(counter_random(key, first + static_cast<std::uint32_t>(i)));
      }
      testing::for_each_target([&] {
        std::vector<std::uint32_t> numbers(n);
        HWY_DYNAMIC_DISPATCH(Fill)(key, first, n, numbers.data());
        EXPECT_EQ(numbers, expected);
      });
    }
  }
}

TEST(CounterRandom, VectorsDrawPairedNumbers) {
  // The vector kernel computes the first half of the hash once for 16 hashes, except for 4 bits.
  // These 4 bits also depend on bits 16 to 19 of the hash's index. As a hash serves two elements,
  // they change for the first time at element 2 * 65536.
  for (const RandomKey key :
       {random_key(1, 3), RandomKey{0xffffffff, 0}, RandomKey{5, 0x89abcdef}}) {
    for (const std::size_t first : {0UL, 7UL, 131008UL, 131071UL, 0xffffff00UL, 0x1ffffff10UL}) {
      for (const std::size_t n : {0UL, 31UL, 65UL, 1003UL}) {
        std::vector<std::uint32_t> expected;
        for (std::size_t i = 0; i < n; ++i) expected.push_back(paired_random(key, first + i));
        testing::for_each_target([&] {
          std::vector<std::uint32_t> numbers(n);
          HWY_DYNAMIC_DISPATCH(FillPaired)(key, first, n, numbers.data());
          EXPECT_EQ(numbers, expected);
        });
      }
    }
  }
}

TEST(CounterRandom, KeysDifferByEverythingThatEntersThem) {
  const auto key = [](std::uint64_t seed, int rank, const char* name, std::uint64_t step) {
    const RandomKey k = random_key(random_stream(seed, rank, name), step);
    return std::uint64_t{k.first} << 32 | k.second;
  };
  const std::uint64_t base = key(1, 0, "a", 0);
  EXPECT_NE(base, key(2, 0, "a", 0));
  EXPECT_NE(base, key(1, 1, "a", 0));
  EXPECT_NE(base, key(1, 0, "b", 0));
  EXPECT_NE(base, key(1, 0, "a", 1));
  EXPECT_NE(key(1, 1, "a", 0), key(2, 0, "a", 0));
  EXPECT_EQ(base, key(1, 0, "a", 0));
}

TEST(CounterRandom, UniformAndUncorrelated) {
  std::vector<std::vector<double>> draws;
  for (int rank : {0, 1}) {
    for (std::uint64_t step = 0; step < 8; ++step) {
      draws.push_back(uniforms(random_key(random_stream(1, rank, "layer.weight"), step)));
    }
  }
  for (const auto& draw : draws) {
    double sum = 0;
    std::array<double, 64> bins{};
    for (double value : draw) {
      ASSERT_GE(value, 0);
      ASSERT_LT(value, 1);
      sum += value;
      ++bins[static_cast<std::size_t>(value * 64)];
    }
    // The variance of a uniform is 1/12.
    EXPECT_LT(std::fabs(sum / kCount - 0.5) * std::sqrt(12.0 * kCount), 5);
    double chi = 0;
    for (double bin : bins) chi += std::pow(bin - kCount / 64.0, 2) / (kCount / 64.0);
    EXPECT_NEAR(chi, 63, 5 * std::sqrt(2 * 63.0));  // 63 degrees of freedom
    // Neighbouring lanes, and the distances of vectors and of rows of a matrix.
    for (std::size_t shift : {1, 2, 4, 8, 16, 32, 64, 512, 1024}) {
      EXPECT_LT(std::fabs(correlation_sigmas(draw, draw, shift)), 5) << shift;
    }
  }
  // Steps and ranks against each other, element by element and shifted.
  for (std::size_t a = 0; a < draws.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      for (std::size_t shift : {0, 1, 16}) {
        EXPECT_LT(std::fabs(correlation_sigmas(draws[a], draws[b], shift)), 5);
      }
    }
  }
}

TEST(CounterRandom, EveryBitOfTheIndexChangesHalfOfTheBits) {
  const RandomKey key = random_key(7, 9);
  for (int bit = 0; bit < 32; ++bit) {
    double flips = 0;
    for (std::uint32_t i = 0; i < 4096; ++i) {
      const std::uint32_t index = i * 2654435761U;
      flips += std::popcount(counter_random(key, index) ^
                             counter_random(key, index ^ (std::uint32_t{1} << bit)));
    }
    EXPECT_NEAR(flips / 4096, 16, 0.5) << bit;
  }
}

TEST(CounterRandom, PairsShareANumberButLookIndependent) {
  const RandomKey key = random_key(random_stream(1, 0, "layer"), 3);
  EXPECT_EQ(paired_random(key, 5), counter_random(key, 5));
  EXPECT_EQ(paired_random(key, 21), std::rotl(counter_random(key, 5), 16));
  EXPECT_EQ(paired_random(key, 40), counter_random(key, 24));
  std::vector<double> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    values[i] = static_cast<double>(paired_random(key, i)) * 0x1p-32;
  }
  double sum = 0;
  for (double value : values) sum += value;
  EXPECT_LT(std::fabs(sum / kCount - 0.5) * std::sqrt(12.0 * kCount), 5);
  for (std::size_t shift : {1, 2, 8, 15, 16, 17, 32, 48, 512}) {
    EXPECT_LT(std::fabs(correlation_sigmas(values, values, shift)), 5) << shift;
  }
}

// Against Boost.Math's.

TEST(ExactGamma, Exponentials) {
  EXPECT_EQ(exact_exp(0), 1);
  for (double x : {-707.5, -300.0, -1.0, -1e-9, 1e-9, 0.3, 2.0, 100.0, 708.9})
    EXPECT_NEAR(exact_exp(x) / std::exp(x), 1, 4e-16) << x;
  EXPECT_EQ(exact_exp(-800), 0);
}

TEST(ExactGamma, NormalQuantiles) {
  for (double p : {1e-300, 1e-20, 1e-9, 1e-4, 0.01, 0.07, 0.25, 0.4, 0.9, 0.99, 0.999999}) {
    const double expected = -normal_quantile(p);
    EXPECT_NEAR(exact_normal_exceeded(p), expected, 1e-14 * (1 + std::fabs(expected))) << p;
  }
  EXPECT_EQ(exact_normal_exceeded(0.5), 0);
}

TEST(ExactGamma, GammaQuantiles) {
  for (double shape :
       {0.02, 0.1, 0.3, 0.5, 0.9, 1.0, 1.5, 2.0, 7.3, 40.0, 999.0, 19'999.0, 20'000.0, 1e6}) {
    for (double p : {1e-9, 1e-4, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.99}) {
      const double expected = testing::gamma_exceeded(shape, p);
      EXPECT_NEAR(exact_gamma_exceeded(shape, p), expected, 1e-10 * expected + 1e-300)
          << "shape " << shape << ", p " << p;
    }
    EXPECT_EQ(exact_gamma_exceeded(shape, 1), 0);
  }
}

TEST(ExactGamma, OfNearlyEqualMagnitudes) {
  // At so large a shape, a gamma distribution's quantiles are those of a normal distribution with
  // the same variance, plus (z^2 - 1) / 3. (Boost.Math's quantiles of such shapes are off by a
  // sixth of a standard deviation.)
  constexpr double kShape = 1e12;
  for (double p : {1e-4, 0.01, 0.25, 0.9}) {
    const double z = exact_normal_exceeded(p);
    EXPECT_NEAR(exact_gamma_exceeded(kShape, p), kShape + z * 1e6 + (z * z - 1) / 3, 1e-3);
  }
}

TEST(ExactGamma, WhatIsTooSmallIsZero) {
  // A fraction of about x^shape / gamma(shape + 1) of the distribution is below x. So the median is
  // near 2^-2000, which is too small for a double.
  EXPECT_EQ(exact_gamma_exceeded(0.0005, 0.5), 0);
}

}  // namespace
}  // namespace thinpipe
#endif  // HWY_ONCE
