// Mean and variance, and sums of logarithms, against the same in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/sums.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

TEST(Dispersion, AgreesWithSumsInLongDouble) {
  testing::for_each_target_and_input(testing::finite_inputs(), [](const std::vector<float>& x) {
    long double sum = 0;
    long double magnitudes = 0;
    long double squares = 0;
    for (const long double value : x) {
      sum += value;
      magnitudes += std::fabs(value);
      squares += value * value;
    }
    const Dispersion with_signs = signed_dispersion(x);
    const Dispersion without = magnitude_dispersion(x);
    // 64 partial sums of n / 64 doubles each.
    const double tolerance = 1e-13 * static_cast<double>(magnitudes);
    EXPECT_NEAR(with_signs.sum, static_cast<double>(sum), tolerance);
    EXPECT_NEAR(without.sum, static_cast<double>(magnitudes), tolerance);
    EXPECT_NEAR(with_signs.squares, static_cast<double>(squares),
                1e-13 * static_cast<double>(squares));
    EXPECT_EQ(without.squares, with_signs.squares);
    EXPECT_EQ(without.count, x.size());
  });
}

TEST(Dispersion, SpreadHasTheGreatestMagnitude) {
  testing::for_each_target_and_input(testing::with_non_finite(), [](const std::vector<float>& x) {
    std::int32_t most = 0;
    for (float value : x) most = std::max(most, key_of(value, KeyOrder::kMagnitude));
    const Spread spread = signed_spread(x);
    EXPECT_EQ(std::bit_cast<std::int32_t>(spread.max_magnitude), most);
    const Dispersion sums = signed_dispersion(x);
    EXPECT_EQ(testing::bits(spread.sum), testing::bits(sums.sum));
    EXPECT_EQ(testing::bits(spread.squares), testing::bits(sums.squares));
  });
}

TEST(Dispersion, MeanAndVariance) {
  // 1, 3, 3, 5: mean 3, squared distances 4, 0, 0, 4.
  const Dispersion spread = signed_dispersion(std::vector<float>{1, 3, 3, 5});
  EXPECT_EQ(spread.mean(), 3);
  EXPECT_EQ(spread.variance(), 2);
  const Dispersion equal = magnitude_dispersion(std::vector<float>(1000, -0.1F));
  EXPECT_GE(equal.variance(), 0);
  EXPECT_LT(equal.variance(), 1e-15);
}

TEST(Dispersion, SameBitsOnEveryTarget) {
  for (std::size_t n : {64UL, 1000UL, 100003UL}) {
    const auto x = testing::heavy(n, 4);
    testing::same_on_every_target([&] {
      return std::pair(testing::bits(signed_dispersion(x).sum),
                       testing::bits(magnitude_dispersion(x).squares));
    });
  }
}

void expect_logarithms(const std::vector<float>& x, bool huge) {
  double sum = 0;
  long double logs = 0;
  std::size_t nonzero = 0;
  for (float value : x) {
    sum += std::fabs(static_cast<double>(value));
    if (value == 0) continue;
    logs += std::log(std::fabs(static_cast<long double>(value)));
    ++nonzero;
  }
  const LogMoments moments = log_moments(x);
  // The documented bound, and the rounding of the last sum.
  EXPECT_NEAR(moments.sum_log, static_cast<double>(logs),
              0x1p-24 * static_cast<double>(nonzero) + 1e-12 * std::fabs(moments.sum_log));
  EXPECT_EQ(moments.nonzero, nonzero);
  if (!huge) {
    EXPECT_NEAR(moments.sum_magnitude, sum, 1e-6 * sum);
  }
}

TEST(Logs, AgreeWithTheLibrarysLogarithm) {
  testing::for_each_target([] {
    for (const auto& [name, x] : testing::finite_inputs()) {
      SCOPED_TRACE(name);
      expect_logarithms(x, name.starts_with("huge"));
    }
    // Every exponent, denormals and zeros among normal numbers.
    std::vector<float> all;
    for (int exponent = -149; exponent < 128; ++exponent) {
      for (float mantissa : {1.0F, 1.9999999F, -1.5F, 0.0F}) {
        all.push_back(std::ldexp(mantissa, exponent));
      }
    }
    while (all.size() < 50000) all.push_back(all[all.size() % 1108]);
    expect_logarithms(all, true);
    expect_logarithms(std::vector<float>(20000, 1.9999999F), false);  // the greatest products
  });
}

TEST(Logs, SameBitsOnEveryTarget) {
  for (std::size_t n : {64UL, 1000UL, 100003UL}) {
    const auto x = testing::heavy(n, 4);
    testing::same_on_every_target([&] {
      const LogMoments moments = log_moments(x);
      return std::pair(testing::bits(moments.sum_log), testing::bits(moments.sum_magnitude));
    });
  }
}

TEST(Logs, NonFiniteInputDoesNotCrash) {
  for (const auto& [name, x] : testing::non_finite_inputs()) log_moments(x);
}

}  // namespace
}  // namespace thinpipe
