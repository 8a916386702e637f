// Simulated steps, against the closed forms and the message model of workloads/predict, which know
// nothing of SimGrid.
#include "workloads/simulate/cluster.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/simulate/in_child.h"
#include "workloads/collectives/collectives.h"
#include "workloads/predict/exchange_time.h"

namespace thinpipe {
namespace {

constexpr double kRate = 1e8;  // B/s

SimulatedNetwork star_of(int hosts, const LinkFigures& link) {
  SimulatedNetwork network{.hosts = hosts};
  for (int host = 0; host < hosts; ++host)
    for (const double delay : {0.0, link.alpha})
      network.links.push_back({.rate = 1 / link.beta, .delay = delay, .credit = link.credit});
  return network;
}

// One bucket, exchanged once; ranks compute for no time.
SimulatedWork exchange_of(const std::string& collective, Exchange operation, int ranks,
                          std::vector<double> bytes) {
  SimulatedWork work{.ranks = ranks, .collective = parse_spec(collective)};
  work.buckets.push_back({.exchanges = {{.operation = operation, .bytes = std::move(bytes)}}});
  work.steps.emplace_back(static_cast<std::size_t>(ranks));
  return work;
}

double longest(const std::vector<SimulatedRankStep>& ranks) {
  return std::ranges::max_element(ranks, {}, &SimulatedRankStep::total)->total;
}

struct Case {
  std::string collective;
  int ranks;
  double within;  ///< relative distance of the two models
};

class OfCollectives : public ::testing::TestWithParam<Case> {};

// In rings all ranks do the same at the same time, and the two models agree to the microsecond.
// If a rank sends to several others, SimGrid shares its link between the connections, while the
// other model sends a segment to each in turn; pipelines then fill earlier or later.
INSTANTIATE_TEST_SUITE_P(
    Simulated, OfCollectives,
    ::testing::Values(Case{"ring", 2, 1e-3}, Case{"ring", 5, 1e-3}, Case{"gloo", 4, 0.02},
                      Case{"halving-doubling", 8, 0.02}, Case{"recursive-doubling", 8, 0.02},
                      Case{"recursive-doubling", 6, 0.1}, Case{"tree", 7, 0.15},
                      Case{"hierarchical:group=2", 6, 0.05}, Case{"hierarchical:group=4", 8, 0.05}),
    [](const auto& one) {
      std::string name = one.param.collective.substr(0, 4);
      return name + "_" + std::to_string(one.param.ranks);
    });

TEST_P(OfCollectives, AllReduceTakesTheModelsTime) {
  const auto& [collective, ranks, within] = GetParam();
  const LinkFigures link{.alpha = 5e-4, .beta = 1 / kRate, .credit = 6e4};
  const std::size_t elements = 250'000;
  const double model =
      ExchangeTimes().all_reduce(parse_spec(collective), elements, ranks, link)->seconds;
  in_child([&] {
    const auto steps = simulate(star_of(ranks, link), exchange_of(collective, Exchange::kAllReduce,
                                                                  ranks, {4.0 * elements}));
    EXPECT_NEAR(longest(steps.at(0)), model, within * model);
  });
}

TEST_P(OfCollectives, AllGatherTakesTheModelsTime) {
  const auto& [collective, ranks, within] = GetParam();
  const LinkFigures link{.alpha = 5e-4, .beta = 1 / kRate, .credit = 6e4};
  std::vector<std::size_t> sizes;
  for (int rank = 0; rank < ranks; ++rank)
    sizes.push_back(100'000 + 30'000 * static_cast<std::size_t>(rank));
  const double model = ExchangeTimes().all_gather(parse_spec(collective), sizes, link)->seconds;
  in_child([&] {
    const auto steps = simulate(
        star_of(ranks, link),
        exchange_of(collective, Exchange::kAllGather, ranks, {sizes.begin(), sizes.end()}));
    EXPECT_NEAR(longest(steps.at(0)), model, within * model);
  });
}

// Above 64 ranks, messages share their memory.
TEST(SimulatedStep, ManyRanksTakeTheClosedFormsTime) {
  const LinkFigures link{.alpha = 1e-5, .beta = 1 / kRate, .credit = 0};
  constexpr int kRanks = 80;
  in_child([&] {
    const auto steps = simulate(star_of(kRanks, link),
                                exchange_of("ring", Exchange::kAllGather, kRanks, {40'000}));
    const double model = ring_all_gather_time(kRanks, 40'008, link);
    EXPECT_NEAR(longest(steps.at(0)), model, 1e-3 * model);
    for (const SimulatedRankStep& rank : steps.at(0))
      EXPECT_EQ(rank.sent_bytes, (kRanks - 1) * 40'008.0);
  });
}

// qgZ's ranks decode each other's codes, so whole messages must arrive.
TEST(SimulatedStep, CodesArriveWhole) {
  const LinkFigures link{.alpha = 1e-4, .beta = 1 / kRate, .credit = 0};
  constexpr std::size_t kElements = 250'000;
  const double model = ExchangeTimes().all_reduce(parse_spec("qgz"), kElements, 4, link)->seconds;
  in_child([&] {
    const auto steps =
        simulate(star_of(4, link), exchange_of("qgz", Exchange::kAllReduce, 4, {4.0 * kElements}));
    EXPECT_NEAR(longest(steps.at(0)), model, 0.05 * model);
  });
}

// gTop-k: ceil(log2 4) merges and a broadcast. Each pair is a message of `own` or k pairs.
TEST(SimulatedStep, SparseSumsRunOnDrawnPairs) {
  const LinkFigures link{.alpha = 1e-5, .beta = 1 / kRate, .credit = 0};
  constexpr std::size_t kPairs = 10'000;
  const SparseSizes sizes{.own = kPairs, .k = kPairs, .selected = kPairs};
  const double model =
      ExchangeTimes().sparse_all_reduce(parse_spec("gtopk"), sizes, 4, link)->seconds;
  in_child([&] {
    SimulatedWork work = exchange_of("gtopk", Exchange::kSparseAllReduce, 4, {8.0 * kPairs});
    work.buckets[0].exchanges[0].k = kPairs;
    work.buckets[0].dimension = 1e6;
    const double simulated = longest(simulate(star_of(4, link), work).at(0));
    EXPECT_NEAR(simulated, model, 0.1 * model);
  });
}

// Servers on hosts of their own, and every rank as a server.
TEST(SimulatedStep, ServersTakeTheModelsTime) {
  const LinkFigures link{.alpha = 1e-4, .beta = 1 / kRate, .credit = 0};
  constexpr int kWorkers = 4;
  constexpr double kElements = 100'000;
  for (const char* collective : {"ps", "ps:servers=2", "twoshot"}) {
    const bool colocated = std::string(collective) == "twoshot";
    const int servers = colocated ? 0 : servers_of(parse_spec(collective));
    SimulatedWork work = exchange_of(collective, Exchange::kPushPull, kWorkers, {});
    std::vector<FlowUnit> units;
    for (int i = 0; i < 8; ++i) {
      work.buckets[0].exchanges[0].units.push_back({.elements = kElements,
                                                    .push = kElements,
                                                    .pull = kElements / 2,
                                                    .decode = 1e-4,
                                                    .compress = 2e-4});
      const int slices = colocated ? kWorkers : 1;
      for (int slice = 0; slice < slices; ++slice)
        units.push_back({.server = colocated ? slice : i % std::max(1, servers),
                         .push = kElements / slices,
                         .pull = kElements / 2 / slices,
                         .decode = 1e-4 / slices,
                         .compress = 2e-4 / slices});
    }
    const double model = ExchangeTimes().push_pull(units, kWorkers, servers, {link})->seconds;
    in_child([&] {
      const auto steps = simulate(star_of(kWorkers + servers, link), work);
      // Servers of the model decode beside their messages, and SimGrid's between them.
      EXPECT_NEAR(longest(steps.at(0)), model, 0.15 * model) << collective;
    });
  }
}

// Compute, codecs and exchanges one after the other.
TEST(SimulatedStep, PhasesAddUp) {
  const LinkFigures link{.alpha = 0, .beta = 1 / kRate, .credit = 0};
  in_child([&] {
    SimulatedWork work = exchange_of("ring", Exchange::kAllReduce, 2, {1e6});  // 10 ms
    work.buckets.push_back(work.buckets[0]);
    work.buckets[0].compress = work.buckets[1].compress = 0.02;
    work.buckets[0].decode = work.buckets[1].decode = 0.005;
    work.steps = {{0.1, 0.1}, {0.1, 0.4}};
    const SimulatedSteps steps = simulate(star_of(2, link), work);
    for (const SimulatedRankStep& rank : steps.at(0)) {
      EXPECT_NEAR(rank.total, 0.1 + 0.04 + 0.02 + 0.01, 1e-6);
      EXPECT_NEAR(rank.exchange, 0.02, 1e-6);
      EXPECT_EQ(rank.compute, 0.1);
    }
    EXPECT_NEAR(steps.at(1)[0].total, 0.4 + 0.07, 1e-6) << "waits for the slow rank";
    EXPECT_NEAR(steps.at(1)[0].exchange, 0.3 + 0.02, 1e-6);
    EXPECT_NEAR(steps.at(1)[1].exchange, 0.02, 1e-6);
  });
}

// Each of two ranks sends 1 MB, which takes 10 ms. The buckets hold all of it at every begin.
TEST(SimulatedStep, SaysHowLongLinksCarryItsBytes) {
  const LinkFigures link{.alpha = 0, .beta = 1 / kRate, .credit = 2e6};
  in_child([&] {
    SimulatedWork work = exchange_of("ring", Exchange::kAllReduce, 2, {1e6});
    work.steps = {{0, 0}, {0.001, 0.001}};
    for (const auto& step : simulate(star_of(2, link), work))
      for (const SimulatedRankStep& rank : step) {
        EXPECT_LT(rank.total, 0.005);
        EXPECT_NEAR(rank.carried, 0.01, 1e-9);
      }
  });
}

// The order of tasks is that of schedule_step(), which has the exchange's time as a number.
TEST(SimulatedStep, OverlapsAsTheScheduleSays) {
  const LinkFigures link{.alpha = 0, .beta = 1 / kRate, .credit = 0};
  for (const PipelineKind kind : {PipelineKind::kInline, PipelineKind::kBeside})
    in_child([&] {
      SimulatedWork work = exchange_of("ring", Exchange::kAllReduce, 2, {2e6});  // 20 ms
      work.kind = kind;
      work.compute = 0.06;
      work.buckets.resize(3, SimulatedBucket(work.buckets[0]));
      std::vector<BucketWork> tasks;
      for (std::size_t i = 0; i < work.buckets.size(); ++i) {
        SimulatedBucket& bucket = work.buckets[i];
        bucket.ready = 0.01 + 0.025 * static_cast<double>(i);
        bucket.compress = 0.004;
        bucket.decode = 0.003;
        tasks.push_back({.ready = bucket.ready,
                         .compress = bucket.compress,
                         .exchange = 0.02,
                         .decode = bucket.decode});
      }
      work.steps = {{0.06, 0.06}};
      const PipelineTime expected = schedule_step(tasks, 0.06, kind);
      const SimulatedSteps steps = simulate(star_of(2, link), work);
      for (const SimulatedRankStep& rank : steps.at(0)) {
        EXPECT_NEAR(rank.total, expected.total, 1e-6);
        EXPECT_NEAR(rank.exposed, expected.exposed, 1e-6);
        EXPECT_EQ(rank.compute, 0.06) << "without waits for the codec";
      }
    });
}

// One bucket that two ranks sum on a ring, beside their backward passes.
SimulatedWork sums_beside(double compute, double bytes) {
  SimulatedWork work = exchange_of("ring", Exchange::kAllReduce, 2, {bytes});
  work.kind = PipelineKind::kBeside;
  work.compute = compute;
  return work;
}

// Gradients of a rank that stalls are ready later, and are exchanged after the stall.
TEST(SimulatedStep, AStallComesBeforeGradientsAreReady) {
  const LinkFigures link{.alpha = 0, .beta = 1 / kRate, .credit = 0};
  in_child([&] {
    SimulatedWork work = sums_beside(0.06, 2e6);  // 20 ms
    work.buckets[0].ready = 0.03;
    work.steps = {{0.06, 0.16}};
    work.stalls = {{0, 0.1}};
    const SimulatedSteps steps = simulate(star_of(2, link), work);
    EXPECT_NEAR(steps.at(0)[0].total, 0.1 + 0.03 + 0.02, 1e-6);
    EXPECT_NEAR(steps.at(0)[1].total, 0.16, 1e-6);
  });
}

// A codec that is late compresses what waits before it decodes what has arrived.
TEST(SimulatedStep, ALateCodecCompressesFirst) {
  const LinkFigures link{.alpha = 0, .beta = 1 / kRate, .credit = 0};
  in_child([&] {
    SimulatedWork work = sums_beside(0.003, 2e5);  // 2 ms
    work.buckets.resize(3, SimulatedBucket(work.buckets[0]));
    for (std::size_t i = 0; i < work.buckets.size(); ++i) {
      work.buckets[i].ready = 0.001 * static_cast<double>(i + 1);
      work.buckets[i].compress = work.buckets[i].decode = 0.005;
    }
    work.steps = {{0.003, 0.003}};
    const SimulatedSteps steps = simulate(star_of(2, link), work);
    EXPECT_NEAR(steps.at(0)[0].total, 0.001 + 3 * 0.005 + 3 * 0.005, 1e-6);
  });
}

TEST(SimulatedStep, RefusesWhatItCannotRun) {
  EXPECT_NE(why_not_simulated(parse_spec("openmpi"), Exchange::kAllReduce, 4), "");
  EXPECT_NE(why_not_simulated(parse_spec("ps"), Exchange::kPushPull, 65), "");
  EXPECT_NE(why_not_simulated(parse_spec("oktopk"), Exchange::kSparseAllReduce, 65), "");
  EXPECT_NE(why_not_simulated(parse_spec("gloo"), Exchange::kAllGather, 65), "");
  EXPECT_EQ(why_not_simulated(parse_spec("ring"), Exchange::kAllGather, 4096), "");
  EXPECT_THROW(simulate(star_of(2, {}), exchange_of("openmpi", Exchange::kAllReduce, 2, {4})),
               InputError);
}

}  // namespace
}  // namespace thinpipe
