#include "workloads/replay/gradients.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/replay/replay_ranks.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/push_pull_collective.h"
#include "workloads/replay/parameter_server.h"

namespace thinpipe {
namespace {

constexpr int kGivenRanks = 2;

class GivenGradientsTest : public SampleTraceTest {
 protected:
  GivenGradientsTest()
      : SampleTraceTest({.shapes = {{20, 25}, {20}, {30, 40}, {30}},
                         .ranks = kGivenRanks,
                         .steps = 8,
                         .compute_seconds = 0,
                         .squares = true}) {}

  std::unique_ptr<GivenGradients> given() const {
    return std::make_unique<GivenGradients>(GivenDescription{
        "sample", "given", trace_.tensors(), trace_.times(0, 0), kGivenRanks, true});
  }
  // Returns the trace's gradients of that step.
  void give(GivenGradients& to, int rank, std::uint64_t step) const {
    const Replayed source = replayed(trace_, rank, step);
    for (std::size_t i = 0; i < trace_.tensors().size(); ++i) {
      const auto values = trace_.gradient(source.rank, source.step, i);
      const auto squares = trace_.squares(source.rank, source.step, i);
      std::copy(values.begin(), values.end(), to.values(i).begin());
      std::copy(squares.begin(), squares.end(), to.squares(i).begin());
    }
  }

  // One rank's gradients of steps [0, steps).
  struct Result {
    std::vector<std::vector<float>> aggregates[kGivenRanks];
    bool operator==(const Result&) const = default;
  };

  static std::unique_ptr<Replay> connected(const Trace& trace, const ReplayOptions& options,
                                           ThreadTransport& transport) {
    const int rank = transport.rank();
    auto replay = std::make_unique<Replay>(trace, options, rank, kGivenRanks);
    if (options.servers)
      replay->connect(std::make_unique<PushPullCollective>(
          std::make_unique<ThreadTransport>(transport), replay->layout()));
    else
      replay->connect([&](std::size_t capacity) {
        return make_collective(parse_spec("ring"), std::make_unique<ThreadTransport>(transport),
                               capacity);
      });
    return replay;
  }

  // `restart` 0: never; else everything is made anew before that step, and goes on from a state.
  Result run(const ReplayOptions& options, bool from_trace, std::uint64_t restart = 0) const {
    constexpr std::uint64_t kSteps = 8;
    Result result;
    const int servers = options.servers ? options.servers->servers : 0;
    on_all_ranks(kGivenRanks + servers, [&](ThreadTransport& transport) {
      const int rank = transport.rank();
      std::vector<std::byte> state;
      if (rank >= kGivenRanks) {
        const auto make = [&] {
          return std::make_unique<ParameterServer>(
              transport,
              replay_units(plan_buckets(trace_.tensors(), options.compressor, options.bucketing),
                           *options.servers),
              UnitAveragerOptions{.exchange = *options.servers,
                                  .local_steps = options.bucketing.local_steps},
              kGivenRanks, rank - kGivenRanks);
        };
        auto server = make();
        for (std::uint64_t step = 0; step < kSteps; ++step) {
          if (restart > 0 && step == restart) {
            server->averager().save_state(state);
            server = make();
            ByteReader reader(state);
            server->averager().load_state(reader);
            EXPECT_EQ(reader.remaining(), 0U);
          }
          server->step(step);
        }
        return;
      }
      const auto gradients = given();
      const Trace& trace = from_trace ? trace_ : gradients->trace();
      auto replay = connected(trace, options, transport);
      for (std::uint64_t step = 0; step < kSteps; ++step) {
        if (restart > 0 && step == restart) {
          replay->save_state(state);
          replay.reset();
          replay = connected(trace, options, transport);
          ByteReader reader(state);
          replay->load_state(reader);
          EXPECT_EQ(reader.remaining(), 0U);
        }
        give(*gradients, rank, step);
        replay->load(step);
        if (!replay->step(step).exchanged) continue;
        const auto all = options.bucketing.outer ? replay->update() : replay->aggregate();
        result.aggregates[rank].emplace_back(all.begin(), all.end());
      }
    });
    return result;
  }
};

ReplayOptions local_steps() {
  ReplayOptions options = replay_options("topk:ratio=0.05");
  options.bucketing.local_steps = 2;
  options.bucketing.outer = OuterOptions();
  return options;
}

TEST_F(GivenGradientsTest, AreReplayedAsATraceOfTheSameValuesIs) {
  for (const char* spec : {"none", "topk:ratio=0.05", "dgc:ratio=0.05", "3lc", "variance",
                           "powersgd:rank=2", "tensor-0:none;*:terngrad"}) {
    SCOPED_TRACE(spec);
    ReplayOptions options = replay_options(spec);
    EXPECT_EQ(run(options, false), run(options, true));
    options.bucketing = overlapped("first=1kb,rest=2kb");
    options.bucketing.granularity = Granularity::kBucket;
    EXPECT_EQ(run(options, false), run(options, true));
  }
  const ReplayOptions local = local_steps();
  EXPECT_EQ(run(local, false), run(local, true));
}

TEST_F(GivenGradientsTest, ARestoredReplayGoesOnAlike) {
  for (const char* spec :
       {"none", "topk:ratio=0.05", "topk:ratio=0.05,memory=ef21", "dgc:ratio=0.05", "3lc",
        "powersgd:rank=2", "terngrad", "sbc:p=0.05,delay=2", "demo", "tensor-0:none;*:onebit"}) {
    SCOPED_TRACE(spec);
    ReplayOptions options = replay_options(spec);
    EXPECT_EQ(run(options, false, 4), run(options, false));
    options.servers = push_pull_options(parse_spec("ps:servers=1"), 1);
    EXPECT_EQ(run(options, false, 4), run(options, false));
  }
  ReplayOptions local = local_steps();
  EXPECT_EQ(run(local, false, 4), run(local, false));
  local.bucketing.local_steps = 4;
  local.bucketing.fragments = 2;  // the first one has two sums of the four steps before
  EXPECT_EQ(run(local, false, 4), run(local, false));
  local.bucketing.fragment_delay = 1;  // and the second one has one
  EXPECT_EQ(run(local, false, 4), run(local, false));
}

TEST_F(GivenGradientsTest, AStateOfAnotherReplayIsRefused) {
  const auto gradients = given();
  std::vector<std::byte> state;
  Replay(gradients->trace(), replay_options("topk:ratio=0.05"), 0, 1).save_state(state);
  const auto refused = [&](const std::string& spec, std::span<const std::byte> bytes) {
    Replay replay(gradients->trace(), replay_options(spec), 0, 1);
    ByteReader reader(bytes);
    EXPECT_THROW(replay.load_state(reader), InputError);
  };
  refused("topk:ratio=0.06", state);
  for (std::size_t size = 0; size < state.size(); size += 997)
    refused("topk:ratio=0.05", std::span(state).first(size));
}

TEST_F(GivenGradientsTest, PartsOfTheAggregateGoBackToTheirTensors) {
  const auto gradients = given();
  ReplayOptions options = replay_options("tensor-[02]:topk:ratio=0.01,memory=ef21;*:none");
  options.bucketing.granularity = Granularity::kBucket;
  options.bucketing.limits = BucketLimits::parse("first=1kb,rest=2kb,order=reverse");
  Replay replay(gradients->trace(), options, 0, 1);
  const auto parts = replay.by_tensor(replay.aggregate());
  std::vector<bool> seen(replay.aggregate().size());
  ASSERT_EQ(parts.size(), 4U);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    ASSERT_EQ(parts[i].size(), trace_.tensors()[i].elements);
    for (const float& value : parts[i]) {
      const auto place = static_cast<std::size_t>(&value - replay.aggregate().data());
      EXPECT_FALSE(seen.at(place));
      seen[place] = true;
    }
  }
  EXPECT_EQ(replay.incremental(), (std::vector<bool>{true, false, true, false}));
}

}  // namespace
}  // namespace thinpipe
