#include "workloads/collectives/flow_graph.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/collectives/push_pull_traffic.h"
#include "workloads/collectives/traffic.h"
#include "workloads/predict/exchange_time.h"

namespace thinpipe {
namespace {

constexpr LinkFigures kServed = {.alpha = 1e-3, .beta = 1e-6, .credit = 0};

// 2 workers push 992 bytes and their heads to one server, whose link carries both, one after the
// other; the server decodes each for 10 ms, encodes for 4 ms, and answers both with 1992 bytes.
TEST(PushPullFlows, OneUnitByHand) {
  ExchangeTimes times;
  const std::vector<FlowUnit> units = {
      {.server = 0, .push = 992, .pull = 1992, .decode = 10e-3, .compress = 4e-3}};
  const double first = 1e-3 + 1e-3;         // forward
  const double worked = first + 2 * 12e-3;  // the second one came meanwhile
  const double answered = worked + 4e-3 + 1e-3;
  EXPECT_NEAR(times.push_pull(units, 2, 1, {kServed})->seconds, answered, 1e-9);
}

// Early units of many are pulled while later ones are pushed.
TEST(PushPullFlows, PushesAndPullsOverlap) {
  ExchangeTimes times;
  std::vector<FlowUnit> units(50, {.server = 0, .push = 9992, .pull = 9992});
  const FlowTime one = *times.push_pull(units, 4, 1, {kServed});
  EXPECT_NEAR(one.bytes, 4 * 50 * 10e3, 1);
  EXPECT_NEAR(one.seconds, 4 * 51 * 10e-3, 0.05);
  for (std::size_t i = 0; i < units.size(); ++i) units[i].server = static_cast<int>(i % 2);
  EXPECT_NEAR(times.push_pull(units, 4, 2, {kServed})->seconds, one.seconds / 2, 0.05);
}

// A server's link four times as fast.
TEST(PushPullFlows, ServersHaveLinksOfTheirOwn) {
  ExchangeTimes times;
  const std::vector<FlowUnit> units(50, {.server = 0, .push = 9992, .pull = 9992});
  LinkFigures fast = kServed;
  fast.beta /= 4;
  const std::vector<LinkFigures> links = {kServed, kServed, kServed, kServed, fast};
  EXPECT_NEAR(times.push_pull(units, 4, 1, links)->seconds, 51 * 10e-3, 0.03);
}

TEST(PushPullFlows, CarryWhatTheClosedFormsSay) {
  PushPullLayout layout{.workers = 3, .servers = 2, .units = {}};
  std::vector<FlowUnit> units;
  std::vector<std::size_t> push, pull;
  for (int i = 0; i < 5; ++i) {
    push.push_back(static_cast<std::size_t>(30'000 * i + 5));
    pull.push_back(static_cast<std::size_t>(20'000 * i + 3));
    ExchangeUnit unit;
    unit.server = i % 2;
    layout.units.push_back(unit);
    units.push_back({.server = i % 2,
                     .push = static_cast<double>(push.back()),
                     .pull = static_cast<double>(pull.back())});
  }
  const FlowGraph graph = push_pull_flows(units, 3, 2, 1e9);
  std::vector<double> sent(5), received(5);
  std::vector<std::uint64_t> messages(5);
  for (const FlowQueue& queue : graph.queues)
    for (const FlowMessage& message : queue.messages) {
      sent[static_cast<std::size_t>(queue.from)] += message.bytes;
      ++messages[static_cast<std::size_t>(queue.from)];
      received[message.to] += message.bytes;
    }
  const auto traffic = push_pull_traffic(layout, std::vector(3, push), pull);
  for (std::size_t rank = 0; rank < 5; ++rank) {
    EXPECT_NEAR(sent[rank], static_cast<double>(traffic[rank].sent.bytes), 1e-6);
    EXPECT_NEAR(received[rank], static_cast<double>(traffic[rank].received.bytes), 1e-6);
    EXPECT_EQ(messages[rank], traffic[rank].sent.messages);
  }
}

// Three ranks each own a slice of 992 bytes, which is answered with 1992 bytes. Every link carries
// two messages of each length, each with its head.
TEST(PushPullFlows, OfTwoShotsCarryWhatTheClosedFormSays) {
  const int ranks = 3;
  PushPullLayout layout{.workers = ranks, .servers = ranks, .colocated = true, .units = {}};
  std::vector<FlowUnit> units;
  for (int rank = 0; rank < ranks; ++rank) {
    ExchangeUnit unit;
    unit.server = rank;
    layout.units.push_back(unit);
    units.push_back({.server = rank, .push = 992, .pull = 1992, .decode = 1e-3, .compress = 2e-3});
  }
  const auto traffic = push_pull_traffic(layout, std::vector(3, std::vector<std::size_t>(3, 992)),
                                         std::vector<std::size_t>(3, 1992));
  std::vector<double> sent(3);
  for (const FlowQueue& queue : push_pull_flows(units, ranks, 0, 1e9).queues)
    for (const FlowMessage& message : queue.messages)
      sent[static_cast<std::size_t>(queue.from)] += message.bytes;
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(traffic[rank].sent.bytes, 2 * 1000U + 2 * 2000U);
    EXPECT_NEAR(sent[rank], static_cast<double>(traffic[rank].sent.bytes), 1e-6);
  }
  // The exchange consists of the first payload's transfer, the work (three decodings and an
  // encoding), and two answers from each rank. The answers are sent in parallel or one after the
  // other.
  ExchangeTimes times;
  const double seconds = times.push_pull(units, ranks, 0, {kServed})->seconds;
  EXPECT_GE(seconds, (1e-3 + 1e-3) + 5e-3 + (1e-3 + 2 * 2e-3) - 1e-9);
  EXPECT_LE(seconds, (1e-3 + 1e-3) + 5e-3 + (1e-3 + 2 * 2e-3) + 2e-3 + 1e-9);
}

// Counts the bytes that wait before a server's port. 4 workers push at once, and a fourth of their
// bytes leaves meanwhile.
TEST(PushPullFlows, KnowHowMuchWaitsBeforeAServer) {
  ExchangeTimes times;
  const std::vector<FlowUnit> units = {{.server = 0, .push = 1e6, .pull = 10}};
  const FlowTime time = *times.push_pull(units, 4, 1, {kServed});
  EXPECT_NEAR(time.waiting, 3e6, 0.1e6);
  EXPECT_LT(times.push_pull(units, 1, 1, {kServed})->waiting, 33e3);
}

std::vector<Traffic> traffic_in(const FlowGraph& graph) {
  std::vector<Traffic> ranks(static_cast<std::size_t>(graph.ranks));
  for (const FlowQueue& queue : graph.queues)
    for (const FlowMessage& message : queue.messages) {
      const Volume one = {1, static_cast<std::uint64_t>(message.bytes)};
      Traffic& from = ranks[static_cast<std::size_t>(queue.from)];
      from.sent = from.sent + one;
      ranks[message.to].received = ranks[message.to].received + one;
    }
  return ranks;
}

double latencies(const FlowGraph& graph) {
  const LinkFigures latency = {.alpha = 1, .beta = 1e-15, .credit = 0};
  return flow_time(graph, std::vector{latency}, 1e6).seconds;
}

// Segment by segment the counts of the closed forms, on every rank.
TEST(SparseFlows, CarryWhatTheClosedFormsSay) {
  for (const char* collective : {"gtopk", "oktopk"})
    for (const int ranks : {2, 3, 4, 7, 8})
      for (const std::size_t k : {840U, 84'000U}) {
        const SparseSizes sizes = {.own = k, .k = k, .selected = k};
        const std::vector<Traffic> flows =
            traffic_in(*sparse_flows(parse_spec(collective), sizes, ranks));
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_EQ(flows[static_cast<std::size_t>(rank)],
                    sparse_all_reduce_traffic(parse_spec(collective), sizes, ranks, rank).even)
              << collective << " " << ranks << " " << rank;
      }
}

TEST(ReduceFlows, CarryWhatTheClosedFormsSay) {
  for (const char* collective : {"qgz:group=1", "qgz:group=2", "qgz:group=4,gather=fp32", "gloo"})
    for (const int ranks : {4, 8})
      for (const std::size_t elements : {1000U, 300'001U, 5'000'003U}) {
        const std::vector<Traffic> flows =
            traffic_in(*all_reduce_flows(parse_spec(collective), elements, ranks));
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_EQ(flows[static_cast<std::size_t>(rank)],
                    all_reduce_traffic(parse_spec(collective), elements, ranks, rank))
              << collective << " " << ranks << " " << rank;
      }
}

TEST(GatherFlows, OfGlooCarryWhatTheClosedFormSays) {
  const std::vector<std::size_t> sizes = {0, 70'000, 5, 32'768};
  const std::vector<Traffic> flows = traffic_in(*all_gather_flows(parse_spec("gloo"), sizes));
  for (int rank = 0; rank < 4; ++rank)
    EXPECT_EQ(flows[static_cast<std::size_t>(rank)],
              all_gather_traffic(parse_spec("gloo"), sizes, rank))
        << rank;
}

// Nothing is forwarded before all of it has arrived: steps of the collectives.
TEST(SparseFlows, TakeAsManyStepsAsTheCollectives) {
  for (const int ranks : {2, 4, 8}) {
    const SparseSizes sizes = {.own = 80, .k = 80, .selected = 80};
    EXPECT_NEAR(latencies(*sparse_flows(parse_spec("gtopk"), sizes, ranks)),
                sparse_all_reduce_steps(parse_spec("gtopk"), ranks), 1e-6);
    EXPECT_NEAR(latencies(*all_reduce_flows(parse_spec("qgz:group=2"), 1000, ranks)),
                all_reduce_steps(parse_spec("qgz:group=2"), ranks), 1e-6);
  }
}

// Up: 80 kB to rank 0. Down: 80 kB back, after all of it has come; no segment overtakes.
TEST(SparseFlows, AMergeWaitsForTheWholeMessage) {
  const SparseSizes sizes = {.own = 9999, .k = 9999, .selected = 9999};
  const LinkFigures link = {.alpha = 1e-3, .beta = 1e-6, .credit = 0};
  const FlowGraph graph = *sparse_flows(parse_spec("gtopk"), sizes, 2);
  EXPECT_NEAR(flow_time(graph, std::vector{link}, 4096).seconds, 2 * (1e-3 + 80e-3), 1e-9);
}

}  // namespace
}  // namespace thinpipe
