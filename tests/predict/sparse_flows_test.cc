#include "workloads/predict/sparse_flows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "workloads/exchange/cost/traffic.h"
#include "workloads/predict/flow_time.h"

namespace thinpipe {
namespace {

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

// Segment by segment what the closed forms count, on every rank.
TEST(SparseFlows, CarryWhatTheClosedFormsSay) {
  for (const char* pattern : {"gtopk", "oktopk"})
    for (const int ranks : {2, 3, 4, 7, 8})
      for (const std::size_t k : {840U, 84'000U}) {
        const SparseSizes sizes = {.own = k, .k = k, .selected = k};
        const std::vector<Traffic> flows =
            traffic_in(*sparse_flows(parse_spec(pattern), sizes, ranks));
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_EQ(flows[static_cast<std::size_t>(rank)],
                    sparse_all_reduce_traffic(parse_spec(pattern), sizes, ranks, rank).even)
              << pattern << " " << ranks << " " << rank;
      }
}

TEST(SparseFlows, OfQgzCarryWhatTheClosedFormsSay) {
  for (const char* pattern : {"qgz:group=1", "qgz:group=2", "qgz:group=4,gather=fp32"})
    for (const int ranks : {4, 8})
      for (const std::size_t elements : {1000U, 300'001U}) {
        const std::vector<Traffic> flows =
            traffic_in(qgz_flows(parse_spec(pattern), elements, ranks));
        for (int rank = 0; rank < ranks; ++rank)
          EXPECT_EQ(flows[static_cast<std::size_t>(rank)],
                    all_reduce_traffic(parse_spec(pattern), elements, ranks, rank))
              << pattern << " " << ranks << " " << rank;
      }
}

// Nothing is sent on before all of it is there: steps of the patterns.
TEST(SparseFlows, TakeAsManyStepsAsThePatterns) {
  for (const int ranks : {2, 4, 8}) {
    const SparseSizes sizes = {.own = 80, .k = 80, .selected = 80};
    EXPECT_NEAR(latencies(*sparse_flows(parse_spec("gtopk"), sizes, ranks)),
                sparse_all_reduce_steps(parse_spec("gtopk"), ranks), 1e-6);
    EXPECT_NEAR(latencies(qgz_flows(parse_spec("qgz:group=2"), 1000, ranks)),
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
