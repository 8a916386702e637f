// Closed forms and simulated messages, compared with each other and with a slow simulation of
// rings.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "workloads/collectives/flow_graph.h"
#include "workloads/collectives/traffic.h"
#include "workloads/predict/exchange_time.h"

namespace thinpipe {
namespace {

// Simulates ring collectives step by step: every segment of every rank passes a token bucket. The
// simulation is slow, but obviously does the same as workloads/collectives/ring.cc.

/// A link that has idled. It has saved up tokens for `credit` bytes, and gains tokens for one byte
/// every beta seconds.
class SimulatedLink {
 public:
  explicit SimulatedLink(const LinkFigures& figures) : figures_(figures), tokens_(figures.credit) {}

  /// Returns the time at which bytes that are ready at `moment` have left, after all sent before.
  double send(double moment, double bytes) {
    const double begin = std::max(moment, free_);
    if (figures_.beta > 0)
      tokens_ = std::min(figures_.credit, tokens_ + (begin - free_) / figures_.beta);
    free_ = begin + std::max(0.0, bytes - tokens_) * figures_.beta;
    tokens_ = std::max(0.0, tokens_ - bytes);
    return free_;
  }

 private:
  LinkFigures figures_;
  double tokens_, free_ = 0;
};

/// Rank r sends `rounds` chunks to r+1: first its own, then those that came from r-1, each cut into
/// segments.
/// @param sizes  sizes[r]: bytes of the chunk that began at rank r
/// @returns the time at which the last segment has arrived anywhere
double simulate_ring(const std::vector<double>& sizes, int rounds, const LinkFigures& link,
                     double segment = kRingSegment) {
  const std::size_t n = sizes.size();
  std::vector<SimulatedLink> links(n, SimulatedLink(link));
  std::vector<std::vector<double>> here(n);  // when segments of the next chunk arrived
  const auto cut = [&](double bytes) {
    std::vector<double> segments;
    for (double left = bytes; left > 0; left -= segment)
      segments.push_back(std::min(segment, left));
    if (segments.empty()) segments.push_back(0);
    return segments;
  };
  for (std::size_t r = 0; r < n; ++r) here[r].assign(cut(sizes[r]).size(), 0.0);
  double last = 0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::vector<double>> next(n);
    for (std::size_t r = 0; r < n; ++r) {
      const std::size_t origin =
          (r + static_cast<std::size_t>(rounds) * n - static_cast<std::size_t>(round)) % n;
      const std::vector<double> segments = cut(sizes[origin]);
      for (std::size_t i = 0; i < segments.size(); ++i) {
        const double arrived = links[r].send(here[r][i], segments[i]) + link.alpha;
        next[(r + 1) % n].push_back(arrived);
        last = std::max(last, arrived);
      }
    }
    here = next;
  }
  return last;
}

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

// If a message's length is no multiple of a segment, each round may take up to one segment's time
// longer.
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

// 1 % of 4 MB, with positions, is 80 kB. Eight ranks take three steps, which send 80, 160 and 320
// kB.
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

constexpr double kOneSegment = 32768;
constexpr LinkFigures kSlowStar = {.alpha = 1e-3, .beta = 1e-6, .credit = 0};

double reduce_time(const char* collective, int ranks, double bytes,
                   const LinkFigures& link = kSlowStar) {
  ExchangeTimes times;
  return times
      .all_reduce(parse_spec(collective), static_cast<std::size_t>(bytes / sizeof(float)), ranks,
                  link)
      ->seconds;
}

double gather_time(const char* collective, const std::vector<std::size_t>& sizes,
                   const LinkFigures& link = kSlowStar) {
  ExchangeTimes times;
  return times.all_gather(parse_spec(collective), sizes, link)->seconds;
}

// Two hops of one segment: the second hop adds only its last segment.
TEST(FlowTime, ATreeOfTwoPassesOnWholeSegments) {
  EXPECT_NEAR(reduce_time("tree", 2, kOneSegment), 2 * (1e-3 + kOneSegment * 1e-6), 1e-9);
  EXPECT_NEAR(reduce_time("tree", 2, 3 * kOneSegment), 2e-3 + 4 * kOneSegment * 1e-6, 1e-9);
}

// Ranks 1 and 2 send 1000 bytes each to rank 0 at the same time, so both messages share the port of
// rank 0.
TEST(FlowTime, SeveralSendersShareThePortTheyComeTo) {
  FlowGraph graph{.ranks = 3, .places = 1};
  for (const int from : {1, 2})
    graph.queues.push_back({.from = from, .messages = {{.to = 0, .bytes = 1000}}});
  EXPECT_NEAR(flow_time(graph, std::vector{kSlowStar}, 100).seconds, 1e-3 + 2e-3, 1e-9);
  EXPECT_EQ(flow_time(graph, std::vector{kSlowStar}, 100).bytes, 2000);
}

TEST(FlowTime, QueuesOfARankTakeTurns) {
  FlowGraph graph{.ranks = 3, .places = 1};
  for (const std::uint32_t to : {1U, 2U})
    graph.queues.push_back({.from = 0, .messages = {{.to = to, .bytes = 1000}}});
  EXPECT_NEAR(flow_time(graph, std::vector{kSlowStar}, 100).seconds, 1e-3 + 2e-3, 1e-9);
}

TEST(FlowTime, AServerWorksOnOneMessageAtATime) {
  FlowGraph graph{.ranks = 3, .places = 1};
  for (const int from : {1, 2})
    graph.queues.push_back({.from = from, .messages = {{.to = 0, .bytes = 1000, .work = 0.5}}});
  graph.queues.push_back({.from = 0, .messages = {{.to = 1, .bytes = 1000, .after = 2}}});
  EXPECT_NEAR(flow_time(graph, std::vector{kSlowStar}, 2000).seconds, 2e-3 + 1e-3 + 1.0 + 1e-3,
              1e-9);
}

TEST(FlowTime, SaysWhenMessagesWaitForEachOther) {
  FlowGraph graph{.ranks = 2, .places = 1};
  graph.queues.push_back({.from = 0, .messages = {{.to = 1, .bytes = 1, .after = 1}}});
  graph.queues.push_back({.from = 1, .messages = {{.to = 0, .bytes = 1, .after = 1}}});
  EXPECT_THROW((void)flow_time(graph, std::vector{kSlowStar}, 1), std::logic_error);
}

// Partners exchange segment by segment: both directions of the links are always busy.
TEST(FlowTime, OfDoublingTheStepsFollowWithoutAGap) {
  EXPECT_NEAR(reduce_time("recursive-doubling", 8, kOneSegment), 3 * (1e-3 + kOneSegment * 1e-6),
              1e-9);
  EXPECT_NEAR(reduce_time("recursive-doubling", 8, 10 * kOneSegment),
              1e-3 + 30 * kOneSegment * 1e-6, 33e-3);
}

// The ring, for which the test has a simulation and a closed form.
TEST(FlowTime, AgreesWithTheSimulationOfARing) {
  for (const int ranks : {2, 3, 4, 8})
    for (const double chunk : {4000.0, kOneSegment, 5 * kOneSegment, 40 * kOneSegment})
      for (const double alpha : {0.0, 20e-6, 1e-3})
        for (const double credit : {0.0, 3000.0, 125e3}) {
          const LinkFigures link = {.alpha = alpha, .beta = 8e-8, .credit = credit};
          const std::vector<double> equal(static_cast<std::size_t>(ranks), chunk);
          const double simulated = simulate_ring(equal, 2 * (ranks - 1), link);
          EXPECT_NEAR(reduce_time("ring", ranks, chunk * ranks, link), simulated,
                      1e-3 * simulated + 1e-9)
              << ranks << " ranks, " << chunk << " bytes, alpha " << alpha << ", credit " << credit;
        }
}

// 4 ranks have 8 segments of 32 kB. In each phase, a rank sends 6 segments without a gap, because a
// segment arrives while the next one is sent. The second phase begins when the last segment of the
// first phase has arrived.
TEST(FlowTime, OfGlooEndsAPhaseBeforeTheNext) {
  const double phase = 6 * kOneSegment * 1e-6 + 1e-3;
  EXPECT_NEAR(reduce_time("gloo", 4, 8 * kOneSegment), 2 * phase, 1e-9);
  EXPECT_NEAR(reduce_time("ring", 4, 8 * kOneSegment), 2 * phase - 1e-3, 1e-9);
}

// With a latency of ten segments, two segments leave in each latency: the third one waits for the
// first one to arrive. Each of the two phases consists of three such pairs.
TEST(FlowTime, OfGlooHasTwoSegmentsUnderWay) {
  const LinkFigures slow = {.alpha = 10 * kOneSegment * 1e-6, .beta = 1e-6, .credit = 0};
  const double pair = kOneSegment * 1e-6 + slow.alpha, last = kOneSegment * 1e-6;
  EXPECT_NEAR(reduce_time("gloo", 4, 8 * kOneSegment, slow), 2 * (3 * pair + last), 1e-9);
}

// Lengths go round three hops in halves of 16 bytes. Then a rank's messages to three ranks leave
// one after the other.
TEST(FlowTime, OfGlooGathersLengthsBeforeMessages) {
  const double lengths = 3 * (1e-3 + 2 * 16e-6), messages = 3 * 5000e-6 + 1e-3;
  EXPECT_NEAR(gather_time("gloo", std::vector<std::size_t>(4, 5000)), lengths + messages, 1e-9);
}

// If all messages are of one segment and each port carries one message at a time, a collective
// takes the number of steps times the time of one step.
TEST(FlowTime, OfSingleSegmentsTakesTheSteps) {
  for (const char* collective : {"ring", "recursive-doubling", "halving-doubling",
                                 "hierarchical:group=2", "hierarchical:group=4", "gloo"})
    for (const int ranks : {2, 4, 8, 16}) {
      const LinkFigures latency = {.alpha = 1, .beta = 1e-12, .credit = 0};
      EXPECT_NEAR(reduce_time(collective, ranks, 64 * 4, latency),
                  all_reduce_steps(parse_spec(collective), ranks), 1e-6)
          << collective << " " << ranks;
      const std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks), 10);
      EXPECT_NEAR(gather_time(collective, sizes, latency),
                  all_gather_steps(parse_spec(collective), ranks), 1e-6)
          << collective << " " << ranks;
    }
}

// Long arrays: the load of the busiest port, by the closed forms of the collectives.
TEST(FlowTime, OfLongArraysTheBusiestPortDecides) {
  for (const char* collective : {"ring", "recursive-doubling", "halving-doubling", "tree",
                                 "hierarchical:group=2", "hierarchical:group=3", "gloo"})
    for (const int ranks : {2, 3, 4, 5, 8}) {
      const std::size_t elements = 2'000'000;
      std::uint64_t busiest = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Traffic traffic = all_reduce_traffic(parse_spec(collective), elements, ranks, rank);
        busiest = std::max({busiest, traffic.sent.bytes, traffic.received.bytes});
      }
      const double seconds =
          reduce_time(collective, ranks, elements * sizeof(float), {.alpha = 0, .beta = 1e-8});
      const double least = static_cast<double>(busiest) * 1e-8;
      EXPECT_GE(seconds, least * (1 - 1e-6)) << collective << " " << ranks;
      // Where ranks are folded in, they come before and after the rest.
      const bool folds = !std::has_single_bit(static_cast<unsigned>(ranks));
      EXPECT_LE(seconds, least * (folds ? 1.45 : 1.1)) << collective << " " << ranks;
    }
}

// Steps left out of long exchanges are made up for.
TEST(ExchangeTimes, ShortensWhatIsLong) {
  for (const char* collective :
       {"recursive-doubling", "halving-doubling", "tree", "hierarchical", "gloo"})
    for (const int ranks : {4, 8}) {
      const std::size_t elements = 6'000'000;
      const LinkFigures link = {.alpha = 1e-4, .beta = 1e-8, .credit = 12500};
      const auto graph = all_reduce_flows(parse_spec(collective), elements, ranks);
      ASSERT_TRUE(graph);
      EXPECT_GT(static_cast<double>(graph->messages()), ExchangeTimes::kMaxFlowMessages);
      const double whole = flow_time(*graph, std::vector{link}, kOneSegment).seconds;
      EXPECT_NEAR(reduce_time(collective, ranks, elements * sizeof(float), link) / whole, 1, 0.03)
          << collective << " " << ranks;
    }
}

}  // namespace

}  // namespace thinpipe
