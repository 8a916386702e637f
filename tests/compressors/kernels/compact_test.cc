// Compaction and counts against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/random.h"
#include "compressors/kernels/select.h"
#include "tests/compressors/support/bits.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::bits;
using testing::for_each_target;

constexpr KeyOrder kAllOrders[] = {KeyOrder::kMagnitude, KeyOrder::kLargest, KeyOrder::kSmallest};

void expect_plain(std::span<const float> x, KeyOrder order, std::int32_t limit) {
  std::vector<std::uint32_t> plain_positions;
  std::vector<float> plain_values;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (key_of(x[i], order) < limit) continue;
    plain_positions.push_back(static_cast<std::uint32_t>(i));
    plain_values.push_back(x[i]);
  }
  // Exactly the promised room, so that a sanitizer sees any store past it.
  std::vector<std::uint32_t> positions(x.size() + kCompactSlack);
  std::vector<float> values(x.size() + kCompactSlack);
  const std::size_t count = compact(x, order, limit, positions.data(), values.data());
  ASSERT_EQ(count, plain_positions.size());
  positions.resize(count);
  values.resize(count);
  EXPECT_EQ(positions, plain_positions);
  EXPECT_EQ(bits(values), bits(plain_values));
  EXPECT_EQ(count_at_least(x, order, limit), count);
}

TEST(Compact, SameAsAPlainLoop) {
  auto inputs = testing::finite_inputs();
  for (auto& input : testing::non_finite_inputs()) inputs.push_back(std::move(input));
  for_each_target([&] {
    for (const auto& [name, x] : inputs) {
      SCOPED_TRACE(name);
      for (KeyOrder order : kAllOrders) {
        expect_plain(x, order, kMinKey);
        expect_plain(x, order, kMaxKey);
        for (std::size_t i = 0; i < std::min<std::size_t>(x.size(), 3); ++i) {
          expect_plain(x, order, key_of(x[i * 31 % x.size()], order));
        }
      }
    }
  });
}

TEST(Compact, SameOnAnyNumberOfThreadsAndAtAnyDensity) {
  // Large enough for blocks of both kinds and for several threads.
  const auto x = testing::heavy(1100011, 5);
  for (double threshold : {0.0, 0.001, 0.004, 0.02, 0.2, 3.0}) {
    std::vector<std::uint32_t> plain;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (static_cast<double>(std::fabs(x[i])) > threshold) {
        plain.push_back(static_cast<std::uint32_t>(i));
      }
    }
    for_each_target([&] {
      for (int threads : {1, 2, 3, 4, 9}) {
        const UseThreads use(threads);
        std::vector<std::uint32_t> positions(x.size() + kCompactSlack);
        std::vector<float> values(x.size() + kCompactSlack);
        positions.resize(compact(x, KeyOrder::kMagnitude, key_above(threshold), positions.data(),
                                 values.data()));
        ASSERT_EQ(positions, plain) << threshold << " on " << threads << " threads";
        for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(values[i], x[plain[i]]);
      }
    });
  }
}

TEST(Keys, RankAsDocumented) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  const auto rank = [](std::vector<float> values, KeyOrder order) {
    for (std::size_t i = 1; i < values.size(); ++i) {
      EXPECT_GT(key_of(values[i - 1], order), key_of(values[i], order)) << i;
    }
  };
  rank({-kNan, -kInfinity, 3, -2, kTiny, -0.0F}, KeyOrder::kMagnitude);
  rank({kNan, kInfinity, 3, 2, kTiny, -0.0F, -kTiny, -2, -kInfinity, -kNan}, KeyOrder::kLargest);
  rank({-kNan, -kInfinity, -3, -2, -kTiny, 0, kTiny, 2, kInfinity, kNan}, KeyOrder::kSmallest);
  for (KeyOrder order : kAllOrders) {
    EXPECT_EQ(key_of(-0.0F, order), key_of(0.0F, order));
    for (std::uint32_t all_ones : {0x7fffffffU, 0xffffffffU}) {
      EXPECT_GT(key_of(std::bit_cast<float>(all_ones), order), kMinKey);
    }
  }
}

TEST(Keys, AboveAThresholdComparesExactly) {
  constexpr float kMax = std::numeric_limits<float>::max();
  for (double threshold : {0.0, 1e-300, 1e-45, 0.1, 0.10000000149011612, 1.0, 3e38, 1e300}) {
    const std::int32_t limit = key_above(threshold);
    for (float near : {0.0F, 1e-45F, 0.1F, 1.0F, kMax}) {
      for (float x : {std::nextafter(near, 0.0F), near, std::nextafter(near, 1e38F), -near}) {
        EXPECT_EQ(key_of(x, KeyOrder::kMagnitude) >= limit,
                  static_cast<double>(std::fabs(x)) > threshold)
            << x << " > " << threshold;
      }
    }
  }
  EXPECT_EQ(key_above(-1), 0);
  EXPECT_GT(key_above(std::numeric_limits<double>::quiet_NaN()),
            key_of(std::numeric_limits<float>::infinity(), KeyOrder::kMagnitude));
}

TEST(Count, SameAsAPlainLoop) {
  auto inputs = testing::finite_inputs();
  for (auto& input : testing::non_finite_inputs()) inputs.push_back(std::move(input));
  testing::for_each_target([&] {
    for (const auto& [name, x] : inputs) {
      SCOPED_TRACE(name);
      for (std::size_t number : {0UL, 1UL, 5UL, kMaxLimits}) {
        std::vector<std::int32_t> limits = {0, 1, kMaxKey};
        for (std::size_t i = 0; i < std::min<std::size_t>(x.size(), 5); ++i) {
          limits.push_back(key_of(x[i * 31 % x.size()], KeyOrder::kMagnitude));
        }
        std::reverse(limits.begin(), limits.end());
        limits.resize(number, 0x3f000000);
        std::vector<std::size_t> counts(number, 99);
        std::vector<std::size_t> expected(number, 0);
        count_magnitudes(x, limits, counts);
        for (std::size_t j = 0; j < number; ++j) {
          for (float value : x) {
            expected[j] += key_of(value, KeyOrder::kMagnitude) >= limits[j] ? 1 : 0;
          }
        }
        ASSERT_EQ(counts, expected);
      }
    }
  });
}

TEST(BitCount, SameAsBitByBit) {
  SplitMix64 random(1);
  testing::for_each_target([&] {
    for (std::size_t n : {0UL, 1UL, 7UL, 8UL, 9UL, 1000UL}) {
      std::vector<std::uint64_t> words(n);
      for (std::uint64_t& word : words) word = random.next();
      if (n > 1) words[1] = ~std::uint64_t{0};
      std::size_t count = 0;
      for (std::uint64_t word : words) {
        for (int bit = 0; bit < 64; ++bit) count += word >> bit & 1;
      }
      EXPECT_EQ(count_bits(words), count);
    }
  });
}

}  // namespace
}  // namespace thinpipe
