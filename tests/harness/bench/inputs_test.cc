#include "harness/bench/inputs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.h"

namespace thinpipe {
namespace {

// Share of |x| > t.
double tail(std::span<const float> x, double t) {
  const auto count = std::count_if(x.begin(), x.end(),
                                   [&](float v) { return std::fabs(static_cast<double>(v)) > t; });
  return static_cast<double>(count) / static_cast<double>(x.size());
}

TEST(BenchInputs, DistributionsHaveTheirTails) {
  constexpr std::size_t kCount = 400000;
  // Binomial counts: 5 sigma of a share p are 5 sqrt(p / n), at most 0.004 for p <= 0.25.
  const auto near = [](double p) { return 5 * std::sqrt(p / kCount); };
  std::vector<float> x(kCount);
  for (const double t : {2.0, 4.0, 6.0}) {
    draw("laplace", 3, x);
    EXPECT_NEAR(tail(x, t), std::exp(-t), near(std::exp(-t))) << t;
    draw("normal", 3, x);
    EXPECT_NEAR(tail(x, t / 2), std::erfc(t / 2 / std::sqrt(2.0)), near(0.3)) << t;
    draw("gpareto", 3, x);
    const double p = std::pow(1 + 0.4 * t, -2.5);
    EXPECT_NEAR(tail(x, t), p, near(p)) << t;
  }
  // P(|x y| > 1) of two normals = 2 / pi * integral of K0 from 1 = 0.2089.
  draw("normal_product", 3, x);
  EXPECT_NEAR(tail(x, 1), 0.2089, near(0.21));
  for (const std::string& name : distribution_names()) {
    draw(name, 5, x);
    const auto positive = std::count_if(x.begin(), x.end(), [](float v) { return v > 0; });
    EXPECT_NEAR(static_cast<double>(positive) / kCount, 0.5, near(0.25)) << name;
  }
  EXPECT_THROW(draw("cauchy", 1, x), InputError);
}

TEST(BenchInputs, SeedDecides) {
  std::vector<float> a(1000), b(1000), c(1000);
  draw("laplace", 1, a);
  draw("laplace", 1, b);
  draw("laplace", 2, c);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
}

TEST(BenchInputs, MemoryRotatesThroughMoreThanTheCache) {
  BenchOptions options;
  const std::size_t d = last_level_cache() / 16;  // a quarter of the cache as floats
  const Inputs inputs(options, d, false);
  EXPECT_GE(inputs.rotation() * d * sizeof(float), 2 * last_level_cache());
  for (std::size_t i = 1; i < inputs.rotation(); ++i) {
    EXPECT_NE(inputs.gradient(i).data(), inputs.gradient(0).data());
  }
  EXPECT_EQ(inputs.gradient(inputs.rotation()).data(), inputs.gradient(0).data());
  // The same values elsewhere.
  EXPECT_NE(inputs.gradient(0)[0], inputs.gradient(1)[0]);
  const auto sum_of_bits = [&](std::size_t i) {
    std::uint64_t sum = 0;
    for (const float value : inputs.gradient(i)) sum += std::bit_cast<std::uint32_t>(value);
    return sum;
  };
  EXPECT_EQ(sum_of_bits(0), sum_of_bits(1));
}

TEST(BenchInputs, CacheStaysWithOne) {
  BenchOptions options;
  options.residency = Residency::kCache;
  const Inputs inputs(options, 1000, true);
  EXPECT_EQ(inputs.rotation(), 1u);
  EXPECT_EQ(inputs.gradient(0).data(), inputs.gradient(7).data());
  EXPECT_EQ(inputs.output(0).data(), inputs.output(7).data());
  EXPECT_NE(inputs.neighbour(0).data(), inputs.gradient(0).data());
  EXPECT_EQ(inputs.squares(3).size(), 1000u);
  for (const float q : inputs.squares(3)) EXPECT_GT(q, 0.0F);
}

TEST(BenchInputs, ArraysBeginOnCacheLines) {
  const Arrays arrays(3, 17);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arrays[i].data()) % 64, 0u);
    EXPECT_EQ(arrays[i].size(), 17u);
  }
}

}  // namespace
}  // namespace thinpipe
