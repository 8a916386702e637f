#include "workloads/collectives/sparse_pairs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "compressors/compressor.h"
#include "tests/collectives/collective_inputs.h"

namespace thinpipe {
namespace {

SparsePairs pairs_of_input(std::size_t count, std::uint64_t seed, bool ties) {
  SparsePairs pairs;
  pairs_of(sparse_input(1000, count, seed, ties).view(), 1000, pairs);
  return pairs;
}

TEST(SparsePairs, MergeAddsIndexByIndex) {
  for (const bool ties : {false, true})
    for (const auto& [a_count, b_count] : std::vector<std::pair<std::size_t, std::size_t>>{
             {0, 0}, {0, 50}, {50, 0}, {1000, 1000}, {200, 300}, {5, 900}}) {
      const SparsePairs a = pairs_of_input(a_count, 1, ties), b = pairs_of_input(b_count, 2, ties);
      std::map<std::uint32_t, float> sum;
      for (const SparsePair& pair : a) sum[pair.index] = pair.value;
      for (const SparsePair& pair : b) {
        const auto [at, added] = sum.emplace(pair.index, pair.value);
        if (!added) at->second += pair.value;
      }
      SparsePairs merged = a;  // the earlier pairs are dropped
      merge_sum(a, b, merged);
      ASSERT_EQ(merged.size(), sum.size());
      std::size_t i = 0;
      for (const auto& [index, value] : sum) EXPECT_EQ(merged[i++], (SparsePair{index, value}));
    }
}

TEST(SparsePairs, MergeKeepsTheSignOfZero) {
  SparsePairs merged;
  merge_sum(SparsePairs{{1, -0.0F}, {2, -0.0F}}, SparsePairs{{2, -0.0F}, {3, 0.0F}}, merged);
  ASSERT_EQ(merged.size(), 3U);
  EXPECT_TRUE(std::signbit(merged[0].value));
  EXPECT_TRUE(std::signbit(merged[1].value));
  EXPECT_FALSE(std::signbit(merged[2].value));
}

TEST(SparsePairs, KeepsTheGreatestAndTheFirstOfEqualOnes) {
  Reselection reselection;
  for (const bool ties : {false, true})
    for (const std::size_t count : {0, 1, 40, 1000}) {
      const SparsePairs all = pairs_of_input(count, count + 7, ties);
      for (const std::size_t k : {0, 1, 2, 17, 39, 500, 2000}) {
        SparsePairs ranked = all;
        std::stable_sort(ranked.begin(), ranked.end(), [](const auto& x, const auto& y) {
          return std::fabs(x.value) > std::fabs(y.value);
        });
        ranked.resize(std::min(k, ranked.size()));
        std::sort(ranked.begin(), ranked.end(),
                  [](const auto& x, const auto& y) { return x.index < y.index; });
        SparsePairs kept = all, dropped = {{5, 5}};
        reselection.keep_top(kept, k, dropped);
        EXPECT_EQ(kept, ranked) << count << " " << k;
        // Together they are the original pairs.
        EXPECT_EQ(dropped[0], (SparsePair{5, 5}));
        dropped.erase(dropped.begin());
        SparsePairs both;
        merge_sum(kept, dropped, both);
        EXPECT_EQ(both, all);
      }
    }
}

TEST(SparsePairs, KthKeyIsZeroWhereAllAreKept) {
  Reselection reselection;
  const SparsePairs pairs = {{0, 3}, {1, -4}, {2, 1}};
  EXPECT_EQ(reselection.kth_key(pairs, 3), 0);
  EXPECT_EQ(reselection.kth_key(pairs, 2), magnitude_key(3));
  EXPECT_EQ(reselection.kth_key(pairs, 0), magnitude_key(4));
}

TEST(SparsePairs, ThoseNotTaken) {
  const SparseInput own{{1, 4, 6, 9}, {1, 2, 3, 4}};
  SparsePairs out;
  pairs_not_in(own.view(), SparsePairs{{0, 9}, {4, 9}, {9, 9}, {12, 9}}, out);
  EXPECT_EQ(out, (SparsePairs{{1, 1}, {6, 3}}));
  pairs_not_in(own.view(), SparsePairs{}, out);
  EXPECT_EQ(out.size(), 4U);
}

TEST(SparsePairs, RefusesWhatIsNoVector) {
  SparsePairs pairs;
  EXPECT_THROW(pairs_of(SparseInput{{1, 1}, {0, 0}}.view(), 5, pairs), InputError);
  EXPECT_THROW(pairs_of(SparseInput{{1, 5}, {0, 0}}.view(), 5, pairs), InputError);
  EXPECT_THROW(pairs_of(SparseInput{{1}, {0, 0}}.view(), 5, pairs), InputError);
  const auto read = [&](const SparsePairs& sent, std::size_t cut) {
    const auto bytes = std::as_bytes(std::span(sent));
    read_pairs(bytes.first(bytes.size() - cut), 1, 10, 20, pairs);
  };
  read({{10, 1}, {19, 2}}, 0);
  EXPECT_EQ(pairs, (SparsePairs{{10, 1}, {19, 2}}));
  EXPECT_THROW(read({{10, 1}, {19, 2}}, 3), PayloadError);
  EXPECT_THROW(read({{9, 1}, {19, 2}}, 0), PayloadError);
  EXPECT_THROW(read({{10, 1}, {20, 2}}, 0), PayloadError);
  EXPECT_THROW(read({{11, 1}, {10, 2}}, 0), PayloadError);
  EXPECT_THROW(read({{11, 1}, {11, 2}}, 0), PayloadError);
}

}  // namespace
}  // namespace thinpipe
