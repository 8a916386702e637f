#include "compressors/kernels/moments.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/parallel.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::for_each_target;

TEST(Moments, AgreeWithSumsInDouble) {
  for_each_target([] {
    for (const auto& [name, x] : testing::finite_inputs()) {
      if (name.starts_with("huge"))
        continue;  // partial sums are floats and overflow, as documented
      SCOPED_TRACE(name);
      double sum = 0;
      double squares = 0;
      float most = 0;
      for (float value : x) {
        sum += std::fabs(static_cast<double>(value));
        squares += static_cast<double>(value) * static_cast<double>(value);
        most = std::max(most, std::fabs(value));
      }
      const Moments moments = magnitude_moments(x);
      EXPECT_NEAR(moments.sum_magnitude, sum, 1e-6 * sum);
      EXPECT_EQ(moments.max_magnitude, most);
      EXPECT_EQ(moments.count, x.size());
      EXPECT_NEAR(sum_of_squares(x), squares, 1e-12 * squares);
    }
  });
}

TEST(Moments, SameBitsOnEveryTarget) {
  for (std::size_t n : {64UL, 1000UL, 100003UL}) {
    const auto x = testing::heavy(n, 4);
    std::vector<std::uint64_t> sums;
    std::vector<std::uint64_t> squares;
    for_each_target([&] {
      sums.push_back(std::bit_cast<std::uint64_t>(magnitude_moments(x).sum_magnitude));
      squares.push_back(std::bit_cast<std::uint64_t>(sum_of_squares(x)));
    });
    EXPECT_EQ(sums, std::vector<std::uint64_t>(sums.size(), sums[0]));
    EXPECT_EQ(squares, std::vector<std::uint64_t>(squares.size(), squares[0]));
  }
}

TEST(Moments, TailsAgreeWithAPlainLoopAndOnEveryTarget) {
  for (const auto& [name, x] : testing::finite_inputs()) {
    if (name.starts_with("huge")) continue;
    SCOPED_TRACE(name);
    for (double threshold : {0.0, 0.001, 0.1, 1.0}) {
      double sum = 0;
      std::size_t count = 0;
      for (float value : x) {
        const double a = std::fabs(static_cast<double>(value));
        if (!(a > threshold)) continue;
        sum += a;
        ++count;
      }
      std::vector<std::uint64_t> seen;
      for_each_target([&] {
        const TailMoments tail = tail_moments(x, key_above(threshold));
        EXPECT_EQ(tail.count, count);
        EXPECT_NEAR(tail.sum_magnitude, sum, 1e-6 * sum);
        seen.push_back(std::bit_cast<std::uint64_t>(tail.sum_magnitude));
      });
      EXPECT_EQ(seen, std::vector<std::uint64_t>(seen.size(), seen[0]));
    }
  }
}

TEST(Moments, SameBitsOnAnyNumberOfThreads) {
  const auto x = testing::heavy(1200001, 4);
  const Moments one = magnitude_moments(x);
  const TailMoments tail = tail_moments(x, key_above(0.01));
  for (int threads : {2, 3, 4, 7}) {
    const UseThreads use(threads);
    EXPECT_EQ(magnitude_moments(x).sum_magnitude, one.sum_magnitude);
    EXPECT_EQ(magnitude_moments(x).max_magnitude, one.max_magnitude);
    EXPECT_EQ(tail_moments(x, key_above(0.01)).sum_magnitude, tail.sum_magnitude);
    EXPECT_EQ(tail_moments(x, key_above(0.01)).count, tail.count);
  }
}

TEST(Moments, MaximumFindsNanAndInfinityAnywhere) {
  for_each_target([] {
    for (std::size_t at = 0; at < 300; at += 7) {
      auto x = testing::bell(300, 1);
      x[at] = -std::numeric_limits<float>::infinity();
      EXPECT_TRUE(std::isinf(magnitude_moments(x).max_magnitude));
      x[(at + 100) % 300] = -std::numeric_limits<float>::quiet_NaN();
      EXPECT_TRUE(std::isnan(magnitude_moments(x).max_magnitude));
    }
  });
}

}  // namespace
}  // namespace thinpipe
