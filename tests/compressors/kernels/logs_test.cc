#include "compressors/kernels/logs.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

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
  EXPECT_EQ(moments.count, x.size());
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
    std::vector<std::uint64_t> logs;
    std::vector<std::uint64_t> sums;
    testing::for_each_target([&] {
      logs.push_back(std::bit_cast<std::uint64_t>(log_moments(x).sum_log));
      sums.push_back(std::bit_cast<std::uint64_t>(log_moments(x).sum_magnitude));
    });
    EXPECT_EQ(logs, std::vector<std::uint64_t>(logs.size(), logs[0]));
    EXPECT_EQ(sums, std::vector<std::uint64_t>(sums.size(), sums[0]));
  }
}

TEST(Logs, NonFiniteInputDoesNotCrash) {
  for (const auto& [name, x] : testing::non_finite_inputs()) log_moments(x);
}

}  // namespace
}  // namespace thinpipe
