#include "workloads/predict/exchange_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "tests/predict/ring_simulation.h"
#include "workloads/exchange/traffic.h"
#include "workloads/predict/flow_graph.h"

namespace thinpipe {
namespace {

constexpr double kOneSegment = 32768;
constexpr LinkFigures kSlowStar = {.alpha = 1e-3, .beta = 1e-6, .credit = 0};

double reduce_time(const char* pattern, int ranks, double bytes,
                   const LinkFigures& link = kSlowStar) {
  ExchangeTimes times;
  return times
      .all_reduce(parse_spec(pattern), static_cast<std::size_t>(bytes / sizeof(float)), ranks, link)
      ->seconds;
}

double gather_time(const char* pattern, const std::vector<std::size_t>& sizes,
                   const LinkFigures& link = kSlowStar) {
  ExchangeTimes times;
  return times.all_gather(parse_spec(pattern), sizes, link)->seconds;
}

// Two hops of one segment; of the second one only what follows counts.
TEST(FlowTime, ATreeOfTwoPassesOnWholeSegments) {
  EXPECT_NEAR(reduce_time("tree", 2, kOneSegment), 2 * (1e-3 + kOneSegment * 1e-6), 1e-9);
  EXPECT_NEAR(reduce_time("tree", 2, 3 * kOneSegment), 2e-3 + 4 * kOneSegment * 1e-6, 1e-9);
}

// Ranks 1 and 2 send to 0 at the same time; 3 to 2 before. Down again 0 sends to 2 and 1 in turn.
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

// Partners exchange segment by segment: both ways of the links are always busy.
TEST(FlowTime, OfDoublingTheStepsFollowWithoutAGap) {
  EXPECT_NEAR(reduce_time("recursive-doubling", 8, kOneSegment), 3 * (1e-3 + kOneSegment * 1e-6),
              1e-9);
  EXPECT_NEAR(reduce_time("recursive-doubling", 8, 10 * kOneSegment),
              1e-3 + 30 * kOneSegment * 1e-6, 33e-3);
}

// The ring, of which there is a simulation of its own and a closed form.
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

// Messages of one segment: steps times what one takes, where no port is shared.
TEST(FlowTime, OfSingleSegmentsTakesTheSteps) {
  for (const char* pattern :
       {"ring", "recursive-doubling", "halving-doubling", "hierarchical:group=2"})
    for (const int ranks : {2, 4, 8, 16}) {
      const LinkFigures latency = {.alpha = 1, .beta = 1e-12, .credit = 0};
      EXPECT_NEAR(reduce_time(pattern, ranks, 64 * 4, latency),
                  all_reduce_steps(parse_spec(pattern), ranks), 1e-6)
          << pattern << " " << ranks;
      const std::vector<std::size_t> sizes(static_cast<std::size_t>(ranks), 10);
      EXPECT_NEAR(gather_time(pattern, sizes, latency),
                  all_gather_steps(parse_spec(pattern), ranks), 1e-6)
          << pattern << " " << ranks;
    }
}

// Long arrays: what the busiest port carries, by the closed forms of the patterns.
TEST(FlowTime, OfLongArraysTheBusiestPortDecides) {
  for (const char* pattern : {"ring", "recursive-doubling", "halving-doubling", "tree",
                              "hierarchical:group=2", "hierarchical:group=3"})
    for (const int ranks : {2, 3, 4, 5, 8}) {
      const std::size_t elements = 2'000'000;
      std::uint64_t busiest = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Traffic traffic = all_reduce_traffic(parse_spec(pattern), elements, ranks, rank);
        busiest = std::max({busiest, traffic.sent.bytes, traffic.received.bytes});
      }
      const double seconds =
          reduce_time(pattern, ranks, elements * sizeof(float), {.alpha = 0, .beta = 1e-8});
      const double least = static_cast<double>(busiest) * 1e-8;
      EXPECT_GE(seconds, least * (1 - 1e-6)) << pattern << " " << ranks;
      // Where ranks are folded in, they come before and after the rest.
      const bool folds = !std::has_single_bit(static_cast<unsigned>(ranks));
      EXPECT_LE(seconds, least * (folds ? 1.45 : 1.1)) << pattern << " " << ranks;
    }
}

// What is left out of long exchanges is made up for.
TEST(ExchangeTimes, ShortensWhatIsLong) {
  for (const char* pattern : {"recursive-doubling", "halving-doubling", "tree", "hierarchical"})
    for (const int ranks : {4, 8}) {
      const std::size_t elements = 6'000'000;
      const LinkFigures link = {.alpha = 1e-4, .beta = 1e-8, .credit = 12500};
      const auto graph = all_reduce_flows(parse_spec(pattern), elements, ranks);
      ASSERT_TRUE(graph);
      EXPECT_GT(static_cast<double>(graph->messages()), ExchangeTimes::kMostFlowMessages);
      const double whole = flow_time(*graph, std::vector{link}, kOneSegment).seconds;
      EXPECT_NEAR(reduce_time(pattern, ranks, elements * sizeof(float), link) / whole, 1, 0.03)
          << pattern << " " << ranks;
    }
}

}  // namespace
}  // namespace thinpipe
