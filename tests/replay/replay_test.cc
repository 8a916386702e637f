#include "workloads/replay/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/replay/replay_ranks.h"
#include "workloads/collectives/flows.h"
#include "workloads/collectives/push_pull_collective.h"
#include "workloads/replay/parameter_server.h"

namespace thinpipe {
namespace {

class ReplayTest : public SampleTraceTest {
 protected:
  ReplayTest() : SampleTraceTest({.compute_seconds = 0}) {}

  // Checks every aggregate against the mean of the values that the ranks report as sent, and the
  // times that they report.
  void run(const std::string& spec, int ranks, std::uint64_t steps) {
    const auto seen = run_steps(trace_, replay_options(spec), ranks, steps);
    expect_means(seen);
    for (const RankSteps& one : seen)
      for (const StepReport& report : one.reports)
        EXPECT_GE(report.total, report.compress + report.exchange + report.decode);
  }

  // Returns the sum of rank 0's gradients of a tensor's first element in the steps [from, to).
  float sum(std::size_t tensor, std::uint64_t from, std::uint64_t to) const {
    float all = 0;
    for (std::uint64_t step = from; step < to; ++step) {
      const Replayed source = replayed(trace_, 0, step);
      all += trace_.gradient(source.rank, source.step, tensor)[0];
    }
    return all;
  }
};

class ReplayWithComputeTest : public SampleTraceTest {
 protected:
  ReplayWithComputeTest() : SampleTraceTest({.compute_seconds = 1e-4}) {}
};

TEST_F(ReplayTest, AggregatesAreTheMeanOfWhatWasSent) {
  for (const char* spec : {"none", "topk:ratio=0.01", "dgc:ratio=0.01", "sidco:ratio=0.01", "3lc",
                           "sbc:p=0.01", "topk:ratio=0.01,positions=golomb", "terngrad",
                           "terngrad:memory=residual,delay=2", "qsgd", "onebit", "powersgd:rank=2",
                           "powersgd:rank=2,exchange=allgather", "powersgd:delay=2,memory=ef21"}) {
    SCOPED_TRACE(spec);
    run(spec, 3, 4);
  }
}

TEST_F(ReplayTest, ADelayedMethodExchangesEveryNthStep) {
  run("sbc:p=0.01,delay=2", 2, 4);
  LoneReplay replay(trace_, replay_options("sbc:p=0.01,delay=2"));
  EXPECT_FALSE(replay.step(0).exchanged);
  EXPECT_TRUE(replay.step(1).exchanged);
}

TEST_F(ReplayTest, TernGradsScaleIsTheGreatestOfAllRanks) {
  constexpr int kRanks = 2;
  std::vector<std::vector<float>> sent(kRanks);
  on_all_ranks(trace_, replay_options("terngrad:sigma=0"), kRanks, [&](Replay& replay, int rank) {
    const StepReport report = replay.step(0);
    EXPECT_GT(report.exchange, 0);
    EXPECT_GE(report.compress, 0);
    sent[static_cast<std::size_t>(rank)].resize(trace_.elements());
    replay.checks().own_contribution(sent[static_cast<std::size_t>(rank)]);
  });
  std::size_t offset = 0;
  std::size_t differing = 0;
  for (std::size_t i = 0; i < trace_.tensors().size(); ++i) {
    // Unclipped, a rank's scale is its greatest magnitude; the common one is the greater.
    float greatest[kRanks] = {0, 0};
    for (std::size_t rank = 0; rank < kRanks; ++rank)
      for (float value : trace_.gradient(rank, 0, i))
        greatest[rank] = std::max(greatest[rank], std::fabs(value));
    const float shared = std::max(greatest[0], greatest[1]);
    differing += greatest[0] != greatest[1] ? 1 : 0;
    for (const auto& of_rank : sent)
      for (std::size_t j = 0; j < trace_.tensors()[i].elements; ++j) {
        const float magnitude = std::fabs(of_rank[offset + j]);
        ASSERT_TRUE(magnitude == 0 || magnitude == shared) << magnitude << " of " << shared;
      }
    offset += trace_.tensors()[i].elements;
  }
  EXPECT_GT(differing, 0U);
}

TEST_F(ReplayTest, WithParameterServersWorkersEndWithWhatThoseAnswered) {
  constexpr int kTwo = 2;  // workers, and servers
  for (const Bucketing& bucketing : all_bucketings())
    for (const char* spec : {"none", "3lc", "powersgd:rank=2", "terngrad", "sbc:p=0.01,delay=2",
                             "tensor-0:topk:ratio=0.01;*:fedavg:delay=2"}) {
      SCOPED_TRACE(spec + (" " + bucketing.to_string()));
      ReplayOptions options = replay_options(spec, bucketing);
      options.servers = push_pull_options(parse_spec("ps:servers=2"), kTwo);
      std::vector<float> ended[kTwo], answered[kTwo];
      on_all_ranks(2 * kTwo, [&](ThreadTransport& transport) {
        const int rank = transport.rank();
        if (rank >= kTwo) {
          const auto plan = plan_buckets(trace_.tensors(), options.compressor, bucketing);
          ParameterServer server(
              transport, replay_units(plan, *options.servers),
              {.exchange = *options.servers, .local_steps = bucketing.local_steps}, kTwo,
              rank - kTwo);
          for (std::uint64_t step = 0; step < 4; ++step) server.step(step);
          answered[rank - kTwo].resize(server.averager().elements());
          server.averager().delta(answered[rank - kTwo]);
          return;
        }
        Replay replay(trace_, options, rank, kTwo);
        replay.connect(std::make_unique<PushPullCollective>(
            std::make_unique<ThreadTransport>(transport), replay.layout()));
        for (std::uint64_t step = 0; step < 4; ++step) {
          replay.load(step);
          const StepReport report = replay.step(step);
          EXPECT_EQ(report.pulled_bytes > 0, report.exchanged);
          EXPECT_EQ(report.summed_bytes, 0U);
        }
        for (int server = 0; server < kTwo; ++server) {
          const auto part =
              part_of_server(replay.units(), replay.layout(), server, replay.aggregate());
          ended[rank].insert(ended[rank].end(), part.begin(), part.end());
        }
      });
      std::vector<float> all = answered[0];
      all.insert(all.end(), answered[1].begin(), answered[1].end());
      EXPECT_EQ(all.size(), trace_.elements());
      for (const std::vector<float>& one : ended) EXPECT_EQ(one, all);
    }
}

TEST_F(ReplayTest, NoneSendsTheGradientItself) {
  Replay replay(trace_, replay_options("none"), 1, 1);
  Mailboxes boxes;
  connect_rings(replay, boxes, 0, 1);
  const StepReport report = replay.step(0);
  EXPECT_EQ(report.payload_bytes, trace_.elements() * sizeof(float));
  EXPECT_EQ(replay.checks().relative_error(0), 0);
  EXPECT_EQ(replay.aggregate()[0], trace_.gradient(1, 0, 0)[0]);
}

// Every second step hands over the sum of its gradient and the one before, and nothing older.
TEST_F(ReplayTest, LocalStepsHandOverTheirOwnSum) {
  LoneReplay replay(trace_, replay_options("none", with_local_steps(2)));
  const auto gradient = [&](std::uint64_t step) {
    const Replayed source = replayed(trace_, 0, step);
    return trace_.gradient(source.rank, source.step, 0)[0];
  };
  for (std::uint64_t step = 0; step < 4; step += 2) {
    EXPECT_FALSE(replay.step(step).exchanged);
    EXPECT_TRUE(replay.step(step + 1).exchanged);
    EXPECT_EQ(replay.aggregate()[0], gradient(step) + gradient(step + 1)) << step;
  }
}

// Each fragment hands over the sum of the four steps since its last turn; in the first turn of the
// first fragment, two steps.
TEST_F(ReplayTest, FragmentsHandOverTheirSumsInTurn) {
  Bucketing bucketing = with_local_steps(4);
  bucketing.fragments = 2;
  LoneReplay replay(trace_, replay_options("none", bucketing));
  const std::size_t last = trace_.tensors().size() - 1;
  for (std::uint64_t step = 0; step < 8; ++step) {
    const StepReport report = replay.step(step);
    ASSERT_EQ(report.exchanged, step % 2 == 1);
    if (!report.exchanged) continue;
    const bool first = step % 4 == 1;
    const auto aggregate = replay.by_tensor(replay.aggregate());
    const std::uint64_t begin = step < 4 ? 0 : step - 3;
    EXPECT_EQ(aggregate[0][0], first ? sum(0, begin, step + 1) : 0) << step;
    EXPECT_EQ(aggregate[last][0], first ? 0 : sum(last, begin, step + 1)) << step;
    EXPECT_EQ(replay.tensors_in_turn(step)[0], first);
    EXPECT_EQ(replay.tensors_in_turn(step)[last], !first);
    const ElementRange turn = replay.turn(step);
    EXPECT_EQ(report.payload_bytes, (turn.end - turn.begin) * sizeof(float));
  }
}

// With a delay of one step, each fragment hands over the sum of the four steps up to the one before
// its turn: the first fragment of one step in its first turn, and the last one of three.
TEST_F(ReplayTest, DelayedFragmentsHandOverTheSumsOfStepsBeforeTheDelay) {
  Bucketing bucketing = with_local_steps(4);
  bucketing.fragments = 2;
  bucketing.fragment_delay = 1;
  LoneReplay replay(trace_, replay_options("none", bucketing));
  const std::size_t last = trace_.tensors().size() - 1;
  for (std::uint64_t step = 0; step < 8; ++step) {
    const StepReport report = replay.step(step);
    ASSERT_EQ(report.exchanged, step % 2 == 1);
    if (!report.exchanged) {
      EXPECT_EQ(report.payload_bytes, 0U);
      continue;
    }
    const bool first = step % 4 == 1;
    const auto aggregate = replay.by_tensor(replay.aggregate());
    const std::uint64_t begin = step < 4 ? 0 : step - 4;
    EXPECT_EQ(aggregate[0][0], first ? sum(0, begin, step) : 0) << step;
    EXPECT_EQ(aggregate[last][0], first ? 0 : sum(last, begin, step)) << step;
    EXPECT_EQ(replay.checks().relative_error(step), 0) << step;
    const ElementRange turn = replay.turn(step);
    EXPECT_EQ(report.payload_bytes, (turn.end - turn.begin) * sizeof(float));
  }
}

// The compute time of the three steps of a delay passes in the last of them.
TEST_F(ReplayWithComputeTest, ComputeOverlapsADelayedExchange) {
  Bucketing bucketing = with_local_steps(4);
  bucketing.fragment_delay = 3;
  LoneReplay replay(trace_, replay_options("none", bucketing));
  double all = 0;
  for (std::uint64_t step = 0; step < 4; ++step) {
    const StepReport report = replay.step(step);
    EXPECT_EQ(report.wanted == 0, step == 1 || step == 2) << step;
    all += report.wanted;
    const Replayed source = replayed(trace_, 0, step);
    all -= trace_.times(source.rank, source.step).compute();
  }
  EXPECT_NEAR(all, 0, 1e-12);
}

// Keeps the values that it got to sum, and their address.
class Witness : public Collective, public AllReduce {
 public:
  void all_reduce(ElementType type, std::span<const std::byte> own, std::span<std::byte> result,
                  float factor) override {
    place = reinterpret_cast<const float*>(own.data());
    given.assign(place, place + own.size() / sizeof(float));
    scale_elements(type, own, factor, result);
  }
  TransportCounters counters() const override { return {}; }

  /// Lets a witness sum a replay's one bucket. Returns the witness, which the replay owns.
  static const Witness& of(Replay& replay) {
    replay.connect([](std::size_t) { return std::make_unique<Witness>(); });
    return dynamic_cast<const Witness&>(replay.collective(0));
  }

  const float* place = nullptr;
  std::vector<float> given;
};

TEST_F(ReplayTest, NoneIsSummedFromWhereTheGradientLies) {
  Replay replay(trace_, replay_options("none"), 1, 1);
  const Witness& witness = Witness::of(replay);
  const StepReport report = replay.step(2);
  EXPECT_EQ(report.selected, trace_.elements());
  // A trace's file has its tensors one after the other.
  EXPECT_EQ(witness.place, trace_.gradient(1, 2, 0).data());
  EXPECT_EQ(witness.given.size(), trace_.elements());
}

TEST_F(ReplayTest, WhatDoesNotLieInOrderIsCopied) {
  ReplayOptions options;
  options.bucketing.overlap = Overlap::kBucket;
  options.bucketing.limits.order = BucketLimits::Order::kReverse;
  Replay replay(trace_, options, 0, 1);
  const Witness& witness = Witness::of(replay);
  ASSERT_EQ(replay.buckets(), 1U);
  replay.step(0);
  std::vector<float> reversed;
  for (std::size_t tensor = trace_.tensors().size(); tensor-- > 0;) {
    const auto values = trace_.gradient(0, 0, tensor);
    reversed.insert(reversed.end(), values.begin(), values.end());
  }
  EXPECT_EQ(witness.given, reversed);
  std::vector<float> own(replay.checks().contribution_size());
  replay.checks().own_contribution(own);
  EXPECT_EQ(own, reversed);
}

TEST_F(ReplayTest, RanksBeyondTheTraceReplayItLater) {  // 2 ranks, 3 steps
  const auto is = [&](int rank, std::uint64_t step, std::size_t r, std::size_t s) {
    const Replayed got = replayed(trace_, rank, step);
    return got.rank == r && got.step == s;
  };
  EXPECT_TRUE(is(0, 0, 0, 0));
  EXPECT_TRUE(is(1, 2, 1, 2));
  EXPECT_TRUE(is(0, 3, 0, 0));  // steps wrap round
  EXPECT_TRUE(is(2, 0, 0, 1));  // rank 2 is rank 0, one step later
  EXPECT_TRUE(is(5, 1, 1, 0));  // rank 5 is rank 1, two steps later
}

}  // namespace
}  // namespace thinpipe
