#include "workloads/exchange/oktopk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "compressors/compressor.h"
#include "tests/exchange/sparse_inputs.h"
#include "tests/exchange/thread_transport.h"

namespace thinpipe {
namespace {

struct Case {
  int ranks;
  bool ties;
  double skew;  // how much denser the beginning is
  OkTopKOptions options = {};
};

// Steps, held against the reference.
void run_and_check(const Case& one, int steps, std::size_t count, std::size_t k) {
  SCOPED_TRACE(::testing::Message() << one.ranks << " ranks, ties " << one.ties << ", skew "
                                    << one.skew << ", count " << count << ", k " << k);
  const auto ranks = static_cast<std::size_t>(one.ranks);
  std::vector<std::vector<std::vector<float>>> sums(ranks), returned(ranks), expected(ranks);
  const auto input = [&](std::size_t rank, int step) {
    return sparse_input(kDimension, count, rank * 100 + static_cast<std::size_t>(step), one.ties,
                        one.skew);
  };
  std::vector<std::vector<float>> full;  // sums without any selection
  for (int step = 0; step < steps; ++step) {
    full.emplace_back(kDimension);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      const auto vector = dense(input(rank, step).view(), kDimension);
      for (std::size_t i = 0; i < kDimension; ++i) full.back()[i] += vector[i];
    }
  }
  const float factor = 1.0F / static_cast<float>(one.ranks);
  on_all_ranks(one.ranks, [&](ThreadTransport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    OkTopK oktopk(one.options);
    for (int step = 0; step < steps; ++step) {
      const SparseInput own = input(rank, step);
      const SparseSum result = oktopk.run(transport, own.view(), k, kDimension, factor);
      sums[rank].push_back(dense(result.sum, kDimension));
      returned[rank].push_back(dense(result.returned, kDimension));
      std::vector<std::vector<float>> vectors;
      for (std::size_t other = 0; other < ranks; ++other)
        vectors.push_back(dense(input(other, step).view(), kDimension));
      expected[rank].emplace_back(kDimension);
      oktopk.expected(spans(vectors), k, factor, expected[rank].back());
    }
  });
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t step = 0; step < sums[0].size(); ++step) {
      EXPECT_EQ(sums[rank][step], sums[0][step]) << rank << " " << step;
      EXPECT_EQ(sums[rank][step], expected[rank][step]) << rank << " " << step;
      // What was selected is in the sum, the rest is back where it came from. Sums may be 0.
      const auto own = dense(input(rank, static_cast<int>(step)).view(), kDimension);
      for (std::size_t i = 0; i < kDimension; ++i) {
        const bool kept = sums[0][step][i] != 0, cancelled = full[step][i] == 0;
        ASSERT_TRUE(returned[rank][step][i] == (kept ? 0 : own[i]) ||
                    (cancelled && returned[rank][step][i] == 0))
            << i;
      }
    }
}

TEST(OkTopK, EndsWithWhatReachesTheGlobalThreshold) {
  for (const int ranks : {1, 2, 3, 4, 7, 8})
    for (const bool ties : {false, true})
      run_and_check({.ranks = ranks, .ties = ties, .skew = 1, .options = {.thresholds = 3}}, 5, 600,
                    500);
}

TEST(OkTopK, TakesUnevenVectorsAndFewElements) {
  // All elements at the beginning of the vector, and regions from an even first step.
  run_and_check({.ranks = 8, .ties = false, .skew = 50}, 3, 600, 500);
  // Fewer than k in all, and none.
  run_and_check({.ranks = 4, .ties = false, .skew = 1}, 2, 20, 500);
  run_and_check({.ranks = 4, .ties = false, .skew = 1}, 2, 0, 500);
  // Balanced in every step.
  run_and_check({.ranks = 5, .ties = false, .skew = 9, .options = {.regions = 2, .imbalance = 1}},
                4, 600, 300);
  // More than a segment to every other rank, one at a time.
  run_and_check({.ranks = 3, .ties = false, .skew = 1, .options = {.at_once = 1}}, 2, 20000, 20000);
}

TEST(OkTopK, SplitsTheIndicesWhereTheElementsAre) {
  // All elements in the first tenth: even regions of 2000 would leave all the work to one rank.
  on_all_ranks(8, [&](ThreadTransport& transport) {
    const auto rank = static_cast<std::size_t>(transport.rank());
    OkTopK oktopk({});
    const SparseInput own = sparse_input(kDimension, 1000, rank + 1, false, 10);
    oktopk.run(transport, own.view(), 1000, kDimension, 1.0F);
    const auto regions = oktopk.regions();
    ASSERT_EQ(regions.size(), 9U);
    EXPECT_EQ(regions[0], 0U);
    EXPECT_EQ(regions[8], kDimension);
    for (std::size_t i = 1; i < 8; ++i) {
      // A mean of eight boundaries, each of which has a deviation of about 1000 / (8 * 2 sqrt 8).
      EXPECT_NEAR(static_cast<double>(regions[i]), static_cast<double>(i) * 250, 60);
    }
  });
}

TEST(OkTopK, FindsRegionsAndThresholdsInTheirTurn) {
  const auto bytes_of_calls = [](const OkTopKOptions& options) {
    std::vector<std::uint64_t> bytes;
    on_all_ranks(2, [&](ThreadTransport& transport) {
      OkTopK oktopk(options);
      const SparseInput own = sparse_input(kDimension, 500, 1);
      for (int call = 0; call < 8; ++call) {
        const std::uint64_t before = transport.counters().bytes;
        oktopk.run(transport, own.view(), 100, kDimension, 1.0F);
        if (transport.rank() == 0) bytes.push_back(transport.counters().bytes - before);
      }
    });
    return bytes;
  };
  const auto bytes = bytes_of_calls({.regions = 4, .thresholds = 2});
  // With the same vectors every time: a boundary (4 bytes), a count (4) and 101 magnitudes at most.
  EXPECT_EQ(bytes[0], bytes[4]);
  EXPECT_EQ(bytes[2], bytes[6]);
  EXPECT_EQ(bytes[1], bytes[3]);
  EXPECT_EQ(bytes[1], bytes[7]);
  EXPECT_EQ(bytes[0] - bytes[2], 4U);
  EXPECT_EQ(bytes[2] - bytes[1], 4U + 4U * 101U);
}

TEST(OkTopK, AdaptsTheThresholdWhereItIsAsked) {
  // The elements double after the first step: too many reach the old threshold, and ever fewer.
  std::vector<std::size_t> kept;
  on_all_ranks(2, [&](ThreadTransport& transport) {
    OkTopK oktopk({.adapt = true});
    for (int call = 0; call < 6; ++call) {
      SparseInput own = sparse_input(kDimension, 5000, 3);
      if (call > 0)
        for (float& value : own.values) value *= 2;
      const auto result = oktopk.run(transport, own.view(), 1000, kDimension, 1.0F);
      if (transport.rank() == 0) kept.push_back(result.sum.size());
    }
  });
  EXPECT_GE(kept[0], 1000U);
  EXPECT_LE(kept[0], 1010U);
  EXPECT_GT(kept[1], 2000U);
  for (std::size_t i = 2; i < kept.size(); ++i) EXPECT_LT(kept[i], kept[i - 1]);
}

TEST(OkTopK, FindsANewThresholdWhereTheOldOneHasDrifted) {
  std::vector<std::size_t> kept;
  on_all_ranks(2, [&](ThreadTransport& transport) {
    OkTopK oktopk({.drift = 2});
    for (int call = 0; call < 4; ++call) {
      SparseInput own = sparse_input(kDimension, 5000, 3);
      if (call == 1)
        for (float& value : own.values) value *= 4;
      const auto result = oktopk.run(transport, own.view(), 1000, kDimension, 1.0F);
      if (transport.rank() == 0) kept.push_back(result.sum.size());
    }
  });
  // Too many in the second call, so the third finds its own; which the fourth can use.
  EXPECT_GT(kept[1], 2000U);
  for (const std::size_t call : {0, 2, 3}) {
    EXPECT_GE(kept[call], 1000U);
    EXPECT_LE(kept[call], 1010U);
  }
}

/// Rank 1 of two sends these messages, whatever rank 0 sends.
void lie(const std::vector<std::vector<std::byte>>& messages) {
  Mailboxes boxes;
  ThreadTransport liar(boxes, 1, 2), honest(boxes, 0, 2);
  for (const auto& message : messages) liar.send(0, 0, 0, message);
  OkTopK oktopk({});
  const SparseInput own{{1, 3, 5, 7}, {1, 2, 3, 4}};
  oktopk.run(honest, own.view(), 2, 10, 1.0F);
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto bytes = std::as_bytes(std::span(values));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> framed_pairs(const SparsePairs& pairs) {
  auto message = bytes_of(std::vector<std::uint64_t>{pairs.size() * sizeof(SparsePair)});
  const auto content = bytes_of(pairs);
  message.insert(message.end(), content.begin(), content.end());
  return message;
}

TEST(OkTopK, RefusesWhatDoesNotFit) {
  using Words = std::vector<std::uint32_t>;
  // Rank 0 would begin region 1 at 5, the other at 7: it begins at 6.
  const auto boundary = bytes_of(Words{7});
  const auto none = framed_pairs({});
  const auto count = bytes_of(Words{0});
  // Two magnitudes of its own make the threshold 2; what reaches it is 3, of rank 1 nothing.
  lie({boundary, none, count, count});
  EXPECT_THROW(lie({bytes_of(Words{11})}), PayloadError);
  EXPECT_THROW(lie({bytes_of(std::vector<std::uint8_t>{7})}), PayloadError);
  EXPECT_THROW(lie({boundary, framed_pairs({{6, 1}})}), PayloadError);  // of region 1
  EXPECT_THROW(lie({boundary, framed_pairs(SparsePairs(7))}), PayloadError);
  EXPECT_THROW(lie({boundary, none, bytes_of(Words{5})}), PayloadError);  // region 1 has 4
  EXPECT_THROW(lie({boundary, none, count, bytes_of(Words{5})}), PayloadError);
  lie({boundary, none, count, bytes_of(Words{1}), bytes_of(SparsePairs{{9, 9}})});
  EXPECT_THROW(lie({boundary, none, count, bytes_of(Words{1}), bytes_of(SparsePairs{{10, 9}})}),
               PayloadError);
}

}  // namespace
}  // namespace thinpipe
