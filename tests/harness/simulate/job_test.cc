// The simulated network of a point, and the messages to the program that simulates it.
#include "harness/simulate/job.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

namespace thinpipe {
namespace {

constexpr double kPayloadShare = 1448.0 / 1514;
// Links with a delay pass single frames, and every second one is acknowledged.
constexpr double kAcknowledged = kPayloadShare / (1 + 66.0 / (2 * 1514));

TEST(Platform, AStarHasTwoLinksForEachHost) {
  const SimulatedNetwork network = simulated_network(
      parse_topology("star"), parse_link_spec("up.rate=10gbit,down.rate=1gbit,delay=2ms"), 3, 1e-5);
  EXPECT_EQ(network.hosts, 3);
  EXPECT_EQ(network.message_time, 1e-5);
  EXPECT_FALSE(network.path);
  ASSERT_EQ(network.links.size(), 6U);
  EXPECT_NEAR(network.links[4].rate, 10e9 / 8 * kAcknowledged, 1);
  EXPECT_NEAR(network.links[5].rate, 1e9 / 8 * kAcknowledged, 1);
  EXPECT_NEAR(network.links[4].delay + network.links[5].delay, 2e-3, 1e-12);
  EXPECT_NEAR(network.links[5].credit, 125'000 * kPayloadShare, 1) << "1 ms at the rate";
}

TEST(Platform, RacksMeetAtTheirTrunks) {
  const SimulatedNetwork network = simulated_network(
      parse_topology("racks:racks=2,oversubscription=2"), parse_link_spec("rate=1gbit"), 4, 0);
  ASSERT_TRUE(network.path);
  EXPECT_EQ(network.path(0, 1), (std::vector<int>{0, 3})) << "host 0 up, host 1 down";
  const std::vector<int> across = network.path(0, 3);
  ASSERT_EQ(across.size(), 4U);
  EXPECT_EQ(across.front(), 0);
  EXPECT_EQ(across.back(), 7);
  // Two hosts of 1 Gbit/s, oversubscribed by 2.
  const SimulatedLink& trunk = network.links.at(static_cast<std::size_t>(across[1]));
  EXPECT_NEAR(trunk.rate, 1e9 / 8 * kPayloadShare, 1);
}

TEST(Platform, JobsAndAnswersKeepAllFields) {
  SimulationJob job{.topology = "star", .link = "rate=1gbit", .message_time = 2e-5, .work = {}};
  job.work = {.ranks = 2,
              .collective = parse_spec("hierarchical:group=2"),
              .kind = PipelineKind::kBeside,
              .compute = 0.5,
              .buckets = {{.ready = 0.25,
                           .compress = 1e-3,
                           .decode = 2e-3,
                           .dimension = 1000,
                           .exchanges = {{.operation = Exchange::kSparseAllReduce,
                                          .bytes = {80, 88},
                                          .k = 10,
                                          .copies = 3e-4}}}},
              .steps = {{0.5, 0.75}},
              .stalls = {{0, 0.25}}};
  EXPECT_EQ(job_json(parse_job(job_json(job))), job_json(job));
  const SimulationJob back = parse_job(job_json(job));
  EXPECT_EQ(back.work.collective, job.work.collective);
  EXPECT_EQ(back.work.kind, PipelineKind::kBeside);
  EXPECT_EQ(back.work.buckets.at(0).exchanges.at(0).operation, Exchange::kSparseAllReduce);
  EXPECT_EQ(back.work.steps, job.work.steps);
  EXPECT_EQ(back.work.stalls, job.work.stalls);

  SimulationAnswer answer{.version = "3.32", .seconds = 1.5, .steps = {}};
  answer.steps = {{{1, 2, 3, 4, 5, 6, 7, 8, 9}, {.total = 10}}};
  const SimulationAnswer heard = parse_answer(answer_json(answer));
  EXPECT_EQ(answer_json(heard), answer_json(answer));
  EXPECT_EQ(heard.steps.at(0).at(0).sent_messages, 9);
  EXPECT_EQ(heard.steps.at(0).at(1).total, 10);
}

}  // namespace
}  // namespace thinpipe
