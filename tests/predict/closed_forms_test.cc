#include "workloads/predict/closed_forms.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

#include "tests/predict/ring_simulation.h"

namespace thinpipe {
namespace {

// 100 Mbit/s of payload, 50 us a message.
constexpr LinkFigures kPlain = {.alpha = 50e-6, .beta = 8e-8, .credit = 0};

// 4 MB on 4 ranks: 6 rounds of 1 MB, 80 ms each; the last byte takes 50 us more.
TEST(RingAllReduceTime, IsTheLinksTimeForLargeArrays) {
  EXPECT_NEAR(ring_all_reduce_time(4, 4e6, kPlain), 0.48005, 1e-9);
}

// 40 bytes on 4 ranks: 6 rounds of 10 bytes, 0.8 us each, and 6 messages.
TEST(RingAllReduceTime, IsTheChainsTimeForSmallArrays) {
  EXPECT_NEAR(ring_all_reduce_time(4, 40, kPlain), 6 * (50e-6 + 0.8e-6), 1e-12);
}

// 6 MB cross each link, of which 0.5 MB were saved up.
TEST(RingAllReduceTime, LetsTheCreditThroughOnce) {
  LinkFigures link = kPlain;
  link.credit = 500e3;
  EXPECT_NEAR(ring_all_reduce_time(4, 4e6, link), 50e-6 + 5.5e6 * 8e-8, 1e-12);
}

TEST(RingTime, IsNothingForOneRank) {
  EXPECT_EQ(ring_all_reduce_time(1, 1e6, kPlain), 0);
  EXPECT_EQ(ring_all_gather_time(1, 1e6, kPlain), 0);
  EXPECT_EQ(ring_all_gather_time(std::vector<double>{1e6}, kPlain), 0);
}

// Without latency: the slowest link carries all messages but the smallest.
TEST(RingAllGatherTime, OfUnequalMessagesIsWhatTheBusiestLinkCarries) {
  const LinkFigures link = {.alpha = 0, .beta = 1e-8, .credit = 0};
  EXPECT_NEAR(ring_all_gather_time(std::vector<double>{1e6, 3e6, 2e6}, link), 5e6 * 1e-8, 1e-12);
}

// One large message among empty ones goes n-1 = 3 hops, a segment behind the other.
TEST(RingAllGatherTime, FollowsOneLargeMessageRoundTheRing) {
  const LinkFigures link = {.alpha = 1e-3, .beta = 1e-8, .credit = 0};
  const double hop = 1e-3 + kRingSegment * 1e-8;
  EXPECT_NEAR(ring_all_gather_time(std::vector<double>{0, 1e6, 0, 0}, link),
              2 * hop + 1e6 * 1e-8 + 1e-3, 1e-12);
}

// Messages cut into segments that do not come out even may take up to a segment a round more.
TEST(RingTime, AgreesWithASimulationOfEverySegment) {
  for (const int ranks : {2, 3, 4, 8, 17})
    for (const double chunk : {1.0, 1000.0, 32768.0, 5 * 32768.0, 100e3, 40 * 32768.0})
      for (const double alpha : {0.0, 20e-6, 1e-3})
        for (const double credit : {0.0, 3000.0, 12500.0, 125e3, 2e6}) {
          const LinkFigures link = {.alpha = alpha, .beta = 8e-8, .credit = credit};
          const std::vector<double> equal(static_cast<std::size_t>(ranks), chunk);
          const double reduced = simulate_ring(equal, 2 * (ranks - 1), link);
          const double gathered = simulate_ring(equal, ranks - 1, link);
          const double uneven =
              (chunk <= kRingSegment || chunk == 5 * kRingSegment || chunk == 40 * kRingSegment)
                  ? 1e-9
                  : 0.08;
          EXPECT_NEAR(ring_all_reduce_time(ranks, chunk * ranks, link), reduced,
                      uneven * reduced + 1e-12)
              << ranks << " ranks, " << chunk << " bytes, alpha " << alpha << ", credit " << credit;
          EXPECT_NEAR(ring_all_gather_time(ranks, chunk, link), gathered, uneven * gathered + 1e-12)
              << ranks << " ranks, " << chunk << " bytes, alpha " << alpha << ", credit " << credit;
        }
}

TEST(RingAllGatherTime, AgreesWithASimulationOfUnequalMessages) {
  std::mt19937 generator(1);
  for (int i = 0; i < 300; ++i) {
    const std::size_t ranks = 2 + generator() % 9;
    std::vector<double> bytes(ranks);
    for (double& size : bytes) size = generator() % 3 == 0 ? 20 : kRingSegment * (generator() % 12);
    const LinkFigures link = {
        .alpha = 1e-4 * (generator() % 5), .beta = 1e-8, .credit = 10e3 * (generator() % 4)};
    const double simulated = simulate_ring(bytes, static_cast<int>(ranks) - 1, link);
    EXPECT_NEAR(ring_all_gather_time(bytes, link), simulated, 1e-9 + 0.03 * simulated);
  }
}

// Without latency these are the models of Variance-based Gradient Compression (Tsuzuku et al.
// 2018), section 5. All-reduce: 2 (p - 1) N s beta / p. With p = 16 workers, N = 25 million
// parameters of s = 32 bits, at beta = 1 ns a bit, that is 2 * 15 / 16 * 0.8 s.
TEST(VarianceModel, AllReduce) {
  const LinkFigures link = {.alpha = 0, .beta = 8e-9, .credit = 0};
  EXPECT_NEAR(ring_all_reduce_time(16, 4 * 25e6, link), 1.5, 1e-9);
}

// All-gather, at most: (sum n_i + (p - 1) m) beta, with messages of n_i bits in blocks of m bits.
TEST(VarianceModel, AllGatherIsNeverAboveItsBound) {
  const LinkFigures link = {.alpha = 0, .beta = 8e-9, .credit = 0};
  const double bound = (6e6 + 2 * 8 * kRingSegment) * 1e-9;
  EXPECT_LE(ring_all_gather_time(std::vector<double>{1e6 / 8, 2e6 / 8, 3e6 / 8}, link), bound);
}

// DGC section 5: 0.1 % on 64 nodes after log2(64) = 6 doublings.
TEST(Density, DoublesAtEveryAggregationInTheWorstCase) {
  double doubled = 0.001;
  for (int round = 0; round < 6; ++round) doubled *= 2;
  EXPECT_DOUBLE_EQ(worst_density(0.001, 64), doubled);
  EXPECT_EQ(worst_density(0.1, 64), 1);
}

// 1 - 0.99^2 = 0.0199; 1 - 0.5^3 = 0.875.
TEST(Density, OfIndependentVectors) {
  EXPECT_NEAR(independent_density(0.01, 2), 0.0199, 1e-12);
  EXPECT_NEAR(independent_density(0.5, 3), 0.875, 1e-12);
  EXPECT_NEAR(independent_density(1e-9, 4), 4e-9, 1e-16);
  EXPECT_EQ(independent_density(1, 2), 1);
  EXPECT_EQ(independent_density(0.1, 0), 0);
}

TEST(Density, OfVectorsThatAreDrawn) {
  std::mt19937 generator(3);
  constexpr int kElements = 200000;
  std::vector<bool> taken(kElements);
  std::bernoulli_distribution keep(0.05);
  int places = 0;
  for (int vector = 0; vector < 8; ++vector)
    for (int i = 0; i < kElements; ++i)
      if (keep(generator) && !taken[static_cast<std::size_t>(i)]) {
        taken[static_cast<std::size_t>(i)] = true;
        ++places;
      }
  // Five standard deviations of the mean of 200,000 draws.
  EXPECT_NEAR(static_cast<double>(places) / kElements, independent_density(0.05, 8), 0.0053);
}

constexpr LinkFigures kLink = {.alpha = 1e-3, .beta = 1e-8, .credit = 0};

// 1 % of 4 MB as 80 kB, eight ranks: 80, 160 and 320 kB in three steps.
TEST(SparseTime, DoublesInTheWorstCase) {
  EXPECT_NEAR(sparse_doubling_time(8, 80e3, 0.01, 4e6, Overlapping::kNone, kLink),
              3e-3 + 560e3 * 1e-8, 1e-12);
}

// Two independent halves fill 3/4, 1.5 times as much as one: 1 MB and 1.5 MB.
TEST(SparseTime, OfIndependentPlaces) {
  EXPECT_NEAR(sparse_doubling_time(4, 1e6, 0.5, 8e6, Overlapping::kIndependent, kLink),
              2e-3 + 2.5e6 * 1e-8, 1e-12);
}

// A sum that is full is sent as the dense array.
TEST(SparseTime, IsNeverLongerThanDense) {
  EXPECT_NEAR(sparse_doubling_time(4, 3e6, 0.4, 4e6, Overlapping::kNone, kLink), 2e-3 + 7e6 * 1e-8,
              1e-12);
  EXPECT_EQ(sparse_doubling_time(1, 3e6, 0.4, 4e6, Overlapping::kNone, kLink), 0);
}

}  // namespace
}  // namespace thinpipe
