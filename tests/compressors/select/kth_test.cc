#include "compressors/select/kth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "compressors/kernels/keys.h"
#include "compressors/random.h"

namespace thinpipe {
namespace {

std::vector<std::vector<std::int32_t>> key_lists() {
  std::vector<std::vector<std::int32_t>> lists;
  SplitMix64 random(1);
  for (std::size_t n : {1UL, 2UL, 100UL, 4096UL, 4097UL, 20000UL, 200000UL}) {
    std::vector<std::int32_t> any(n), few(n), equal(n, 5), top(n, kMaxKey);
    for (auto& key : any) key = static_cast<std::int32_t>(random.next());
    for (auto& key : few) key = static_cast<std::int32_t>(random.below(3));
    top[0] = kMinKey + 1;
    for (auto& list : {any, few, equal, top}) lists.push_back(list);
  }
  return lists;
}

TEST(Kth, SameAsASort) {
  for (const auto& list : key_lists()) {
    auto sorted = list;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (std::size_t k : {std::size_t{1}, list.size() / 1000 + 1, list.size() / 10 + 1,
                          list.size() / 2 + 1, list.size()}) {
      auto keys = list;
      EXPECT_EQ(kth_greatest(keys, std::min(k, list.size())), sorted[std::min(k, list.size()) - 1])
          << list.size() << " keys, k = " << k;
    }
  }
}

TEST(Kth, BracketHoldsTheKthAndFewOthers) {
  // 4 standard deviations: of 300 seeds none misses, and the bracket is no wider than it must be.
  constexpr std::size_t kElements = 100000;
  constexpr std::size_t kSampled = 2000;
  SplitMix64 random(2);
  for (std::size_t k : {100UL, 1000UL, 10000UL}) {
    for (int round = 0; round < 100; ++round) {
      std::vector<std::int32_t> sample(kSampled);
      // Keys 0 ... kElements - 1: the k-th greatest is kElements - k.
      for (auto& key : sample) key = static_cast<std::int32_t>(random.below(kElements));
      const KeyBracket bracket = bracket_of_sample(sample, k, kElements);
      const auto kth = static_cast<std::int32_t>(kElements - k);
      EXPECT_LE(bracket.low, kth);
      EXPECT_GE(bracket.certain, kth);
      EXPECT_GE(bracket.low, kth - static_cast<std::int32_t>(4 * k + 500));
    }
  }
}

}  // namespace
}  // namespace thinpipe
