#include "compressors/kernels/filter.h"

#include <gtest/gtest.h>

#include <vector>

#include "compressors/kernels/parallel.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::for_each_target;

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
