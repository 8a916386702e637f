// Cuts and filters of what was compacted against plain loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/select.h"
#include "tests/compressors/support/bits.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::bits;
using testing::for_each_target;

constexpr KeyOrder kOrders[] = {KeyOrder::kMagnitude, KeyOrder::kLargest, KeyOrder::kSmallest};

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

/// filter() and filter_into(), the latter at odd addresses and with guards behind what it writes.
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

std::vector<testing::NamedInput> some_inputs() {
  auto all = testing::finite_inputs();
  for (auto& input : testing::non_finite_inputs()) all.push_back(std::move(input));
  return all;
}

TEST(Cut, SameAsAPlainLoop) {
  const auto all = some_inputs();
  for_each_target([&] {
    for (const auto& [name, x] : all) {
      SCOPED_TRACE(name);
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
    }
  });
}

TEST(Cut, TakesNeighboursAmongThoseBetween) {
  // Few values, so that all places of the first and the last of them are met.
  std::vector<float> x(9001);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * i % 11);
  const Pairs from = numbered(x);
  const std::int32_t low = key_of(3, KeyOrder::kMagnitude);
  const std::int32_t most = key_of(5, KeyOrder::kMagnitude);
  std::size_t between = 0;
  for (float value : x) between += value >= 3 && value <= 5 ? 1 : 0;
  ASSERT_GT(between, 100U);
  for_each_target([&] {
    for (std::size_t start : {std::size_t{0}, std::size_t{1}, between / 2, between - 1}) {
      for (std::size_t take : {std::size_t{0}, std::size_t{1}, between / 3, between - start}) {
        if (start + take > between) continue;
        const Cut cut = cut_between(KeyOrder::kMagnitude, low, most, start, take, x);
        Pairs expected;
        std::size_t seen = 0;
        for (std::size_t i = 0; i < x.size(); ++i) {
          const bool is_between = x[i] >= 3 && x[i] <= 5;
          const bool taken = is_between && seen >= start && seen < start + take;
          seen += is_between ? 1 : 0;
          if (!taken && x[i] <= 5) continue;
          expected.positions.push_back(from.positions[i]);
          expected.values.push_back(x[i]);
        }
        EXPECT_TRUE(plain_cut(cut, from).positions == expected.positions);
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

constexpr KeyOrder kKeyOrders[] = {KeyOrder::kMagnitude, KeyOrder::kLargest, KeyOrder::kSmallest};
constexpr std::size_t kSlack = 64;  // one of the widest vectors

std::vector<testing::NamedInput> all_inputs() {
  auto all = testing::finite_inputs();
  for (auto& input : testing::non_finite_inputs()) all.push_back(std::move(input));
  return all;
}

TEST(Filter, KeysAgreeWithAPlainLoop) {
  const auto all = all_inputs();
  for_each_target([&] {
    for (const auto& [name, x] : all) {
      SCOPED_TRACE(name);
      for (KeyOrder order : kKeyOrders) {
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
        std::size_t reached = 0;
        for (std::int32_t key : plain) {
          if (key >= low && key <= high) between.push_back(key);
          above += key > high ? 1 : 0;
          reached += key >= low ? 1 : 0;
        }
        EXPECT_EQ(count_keys(keys, low), reached);
        std::vector<std::int32_t> found(x.size() + kSlack);
        const KeysBetween counts = keys_between(x, order, low, high, found.data());
        EXPECT_EQ(counts.above, above);
        found.resize(counts.kept);
        EXPECT_EQ(found, between);
        keys.resize(keep_keys(keys, low, high));
        EXPECT_EQ(keys, between);
      }
    }
  });
}

TEST(Filter, SameOnAnyNumberOfThreads) {
  const auto x = testing::heavy(1200001, 6);
  const std::int32_t low = key_of(0.002F, KeyOrder::kMagnitude);
  const std::int32_t high = key_of(0.01F, KeyOrder::kMagnitude);
  std::vector<std::vector<std::int32_t>> keys_of_all;
  for (int threads : {1, 2, 4, 9}) {
    const UseThreads use(threads);
    std::vector<std::int32_t> keys(x.size());
    const KeysBetween found = keys_between(x, KeyOrder::kMagnitude, low, high, keys.data());
    keys.resize(found.kept);
    keys.push_back(static_cast<std::int32_t>(found.above));
    keys_of_all.push_back(std::move(keys));
  }
  for (const auto& keys : keys_of_all) EXPECT_EQ(keys, keys_of_all[0]);
}

}  // namespace
}  // namespace thinpipe
