// Compaction, counts, cuts and filters against plain loops.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/random.h"
#include "compressors/kernels/select.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/parts.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::bits;
using testing::for_each_target;
using testing::for_each_target_and_input;
using testing::positions_where;

constexpr KeyOrder kOrders[] = {KeyOrder::kMagnitude, KeyOrder::kLargest, KeyOrder::kSmallest};
constexpr std::size_t kSlack = 64;  // one of the widest vectors

struct Pairs {
  std::vector<std::uint32_t> positions;
  std::vector<float> values;
};

Pairs numbered(const std::vector<float>& x) {
  Pairs pairs{std::vector<std::uint32_t>(x.size()), x};
  for (std::size_t i = 0; i < x.size(); ++i) pairs.positions[i] = static_cast<std::uint32_t>(7 * i);
  return pairs;
}

Pairs plain_cut(const Cut& cut, const Pairs& from) {
  Pairs kept;
  for (std::size_t i = 0; i < from.values.size(); ++i) {
    const bool within = i >= cut.begin && i < cut.end;
    if (key_of(from.values[i], cut.order) <= (within ? cut.below_within : cut.below)) continue;
    kept.positions.push_back(from.positions[i]);
    kept.values.push_back(from.values[i]);
  }
  return kept;
}

/// filter() and filter_into(), the latter at odd addresses and with guards behind its output.
void expect_same(const Cut& cut, const Pairs& from) {
  const Pairs expected = plain_cut(cut, from);
  const std::size_t kept = expected.values.size();
  EXPECT_EQ(count_kept(cut, from.values), kept);

  constexpr std::byte kGuard{0xa5};
  std::vector<std::byte> bytes(8 * kept + 3, kGuard);
  std::byte* const values = bytes.data() + 1;
  std::byte* const positions = values + 4 * kept;
  filter_into(cut, from.positions, from.values, kept, positions, values);
  EXPECT_EQ(bytes.front(), kGuard);
  EXPECT_EQ(bytes[8 * kept + 1], kGuard);
  EXPECT_EQ(bytes[8 * kept + 2], kGuard);
  if (kept > 0) {
    EXPECT_EQ(std::memcmp(values, expected.values.data(), 4 * kept), 0);
    EXPECT_EQ(std::memcmp(positions, expected.positions.data(), 4 * kept), 0);
  }

  Pairs own = from;
  ASSERT_EQ(filter(cut, own.values.size(), own.positions.data(), own.values.data()), kept);
  own.positions.resize(kept);
  own.values.resize(kept);
  EXPECT_TRUE(own.positions == expected.positions);
  EXPECT_TRUE(bits(own.values) == bits(expected.values));
}

TEST(Cut, SameAsAPlainLoop) {
  for_each_target_and_input(testing::with_non_finite(), [](const std::vector<float>& x) {
    for (KeyOrder order : kOrders) {
      const std::int32_t limit = x.empty() ? 0 : key_of(x[x.size() / 3], order);
      const std::int32_t other = x.empty() ? 0 : key_of(x[x.size() / 2], order);
      expect_same(cut_at(order, limit), numbered(x));
      expect_same({.order = order,
                   .below = std::max(limit, other),
                   .below_within = std::min(limit, other) - 1,
                   .begin = x.size() / 4,
                   .end = x.size() - x.size() / 5},
                  numbered(x));
    }
  });
}

TEST(Cut, TakesNeighboursAmongThoseBetween) {
  // Few values, so that every position of the first and the last of them occurs.
  std::vector<float> x(9001);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 11);
  const Pairs from = numbered(x);
  const std::int32_t low = key_of(3, KeyOrder::kMagnitude);
  const std::int32_t most = key_of(5, KeyOrder::kMagnitude);
  const auto inside = positions_where(x, [](float value) { return value >= 3 && value <= 5; });
  const auto above = positions_where(x, [](float value) { return value > 5; });
  const std::size_t between = inside.size();
  ASSERT_GT(between, 100U);
  for_each_target([&] {
    for (std::size_t start : {std::size_t{0}, std::size_t{1}, between / 2, between - 1}) {
      for (std::size_t take : {std::size_t{0}, std::size_t{1}, between / 3, between - start}) {
        if (start + take > between) continue;
        const Cut cut = cut_between(KeyOrder::kMagnitude, low, most, start, take, x);
        const auto taken = std::span(inside).subspan(start, take);
        std::vector<std::uint32_t> expected = above;
        expected.insert(expected.end(), taken.begin(), taken.end());
        std::sort(expected.begin(), expected.end());
        for (std::uint32_t& position : expected) position = from.positions[position];
        EXPECT_TRUE(plain_cut(cut, from).positions == expected);
        expect_same(cut, from);
      }
    }
  });
}

TEST(Cut, SameOnAnyNumberOfThreads) {
  const auto x = testing::heavy(1200001, 6);
  const Pairs from = numbered(x);
  const std::int32_t low = key_of(0.002F, KeyOrder::kMagnitude);
  const std::int32_t most = key_of(0.01F, KeyOrder::kMagnitude);
  const Cut one = cut_between(KeyOrder::kMagnitude, low, most, 1000, 20000, x);
  for (int threads : {1, 2, 4, 9}) {
    const UseThreads use(threads);
    EXPECT_EQ(count_at_least(x, KeyOrder::kMagnitude, low),
              plain_cut(cut_at(KeyOrder::kMagnitude, low), from).values.size());
    expect_same(cut_at(KeyOrder::kMagnitude, low), from);
    expect_same(one, from);
    const Cut same = cut_between(KeyOrder::kMagnitude, low, most, 1000, 20000, x);
    EXPECT_EQ(same.begin, one.begin);
    EXPECT_EQ(same.end, one.end);
  }
}

TEST(Filter, KeysAgreeWithAPlainLoop) {
  for_each_target_and_input(testing::with_non_finite(), [](const std::vector<float>& x) {
    for (KeyOrder order : kOrders) {
      std::vector<std::int32_t> plain;
      for (float value : x) plain.push_back(key_of(value, order));
      std::vector<std::int32_t> keys(x.size());
      keys_of(x, order, keys.data());
      EXPECT_EQ(keys, plain);
      std::int32_t low = x.empty() ? 0 : plain[x.size() / 3];
      std::int32_t high = x.empty() ? 0 : plain[x.size() / 2];
      if (low > high) std::swap(low, high);
      std::vector<std::int32_t> between;
      std::size_t above = 0;
      for (std::int32_t key : plain) {
        if (key >= low && key <= high) between.push_back(key);
        above += key > high ? 1 : 0;
      }
      EXPECT_EQ(count_keys(keys, low), above + between.size());
      std::vector<std::int32_t> found(x.size() + kSlack);
      const KeysBetween counts = keys_between(x, order, low, high, found.data());
      EXPECT_EQ(counts.above, above);
      found.resize(counts.kept);
      EXPECT_EQ(found, between);
      keys.resize(keep_keys(keys, low, high));
      EXPECT_EQ(keys, between);
    }
  });
}

TEST(Filter, SameOnAnyNumberOfThreads) {
  const auto x = testing::heavy(1200001, 6);
  const std::int32_t low = key_of(0.002F, KeyOrder::kMagnitude);
  const std::int32_t high = key_of(0.01F, KeyOrder::kMagnitude);
  std::vector<std::int32_t> first;
  for (int threads : {1, 2, 4, 9}) {
    const UseThreads use(threads);
    std::vector<std::int32_t> keys(x.size());
    const KeysBetween found = keys_between(x, KeyOrder::kMagnitude, low, high, keys.data());
    keys.resize(found.kept);
    keys.push_back(static_cast<std::int32_t>(found.above));
    if (threads == 1) first = keys;
    EXPECT_EQ(keys, first);
  }
}

void expect_plain(std::span<const float> x, KeyOrder order, std::int32_t limit) {
  const auto plain = positions_where(x, [&](float value) { return key_of(value, order) >= limit; });
  std::vector<float> plain_values;
  for (std::uint32_t i : plain) plain_values.push_back(x[i]);
  // Exactly the promised buffer, so that a sanitizer sees any store past it.
  std::vector<std::uint32_t> positions(x.size() + kCompactSlack);
  std::vector<float> values(x.size() + kCompactSlack);
  positions.resize(compact(x, order, limit, positions.data(), values.data()));
  values.resize(positions.size());
  EXPECT_EQ(positions, plain);
  EXPECT_EQ(bits(values), bits(plain_values));
  EXPECT_EQ(count_at_least(x, order, limit), plain.size());
}

TEST(Compact, SameAsAPlainLoop) {
  for_each_target_and_input(testing::with_non_finite(), [](const std::vector<float>& x) {
    for (KeyOrder order : kOrders) {
      expect_plain(x, order, kMinKey);
      expect_plain(x, order, kMaxKey);
      for (std::size_t i = 0; i < std::min<std::size_t>(x.size(), 3); ++i) {
        expect_plain(x, order, key_of(x[i * 31 % x.size()], order));
      }
    }
  });
}

TEST(Compact, SameOnAnyNumberOfThreadsAndAtAnyDensity) {
  // Large enough for blocks of both kinds and for several threads.
  const auto x = testing::heavy(1100011, 5);
  for (double threshold : {0.0, 0.001, 0.004, 0.02, 0.2, 3.0}) {
    const auto plain = testing::positions_above(x, threshold);
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
  using testing::kInfinity, testing::kNan;
  constexpr float kTiny = std::numeric_limits<float>::denorm_min();
  const auto rank = [](std::vector<float> values, KeyOrder order) {
    for (std::size_t i = 1; i < values.size(); ++i) {
      EXPECT_GT(key_of(values[i - 1], order), key_of(values[i], order)) << i;
    }
  };
  rank({-kNan, -kInfinity, 3, -2, kTiny, -0.0F}, KeyOrder::kMagnitude);
  rank({kNan, kInfinity, 3, 2, kTiny, -0.0F, -kTiny, -2, -kInfinity, -kNan}, KeyOrder::kLargest);
  rank({-kNan, -kInfinity, -3, -2, -kTiny, 0, kTiny, 2, kInfinity, kNan}, KeyOrder::kSmallest);
  for (KeyOrder order : kOrders) {
    EXPECT_EQ(key_of(-0.0F, order), key_of(0.0F, order));
    for (std::uint32_t all_ones : {0x7fffffffU, 0xffffffffU}) {
      EXPECT_GT(key_of(std::bit_cast<float>(all_ones), order), kMinKey);
    }
  }
}

TEST(Keys, AboveAThresholdComparesExactly) {
  constexpr float kMax = std::numeric_limits<float>::max();
  for (double threshold : {0.0, -0.0, 1e-300, 1e-45, 0.1, 0.10000000149011612, 1.0, 3e38, 1e300}) {
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
            key_of(testing::kInfinity, KeyOrder::kMagnitude));
}

TEST(Count, SameAsAPlainLoop) {
  for_each_target_and_input(testing::with_non_finite(), [](const std::vector<float>& x) {
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
