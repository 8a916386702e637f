// Sums that patterns change on their way: elements selected again, arrays quantised.
#include <memory>

#include "tests/cuda/played/counting_device.h"
#include "tests/cuda/played/played_device.h"
#include "tests/cuda/replay/device_replay.h"

namespace thinpipe {
namespace {

TEST_F(DeviceReplayTest, ElementsThatAreSelectedAgainOnTheirWay) {
  for (const char* pattern : {"gtopk", "gtopk:putback=sender", "oktopk:thresholds=2,regions=2"})
    for (const char* spec :
         {"topk:ratio=0.01", "dgc:ratio=0.01", "sidco:ratio=0.01", "ef21:ratio=0.01",
          "topk:ratio=0.01,memory=none", "topk:ratio=0.01,memory=clear,delay=2",
          "topk:ratio=0.02,memory=momentum,clip=0.5", "topk:ratio=0.01,values=exp4",
          "threshold:tau=0.001,positions=golomb", "variance",
          "tensor-3:none;tensor-0:threshold:tau=0.001;*:topk:ratio=0.1"}) {
      SCOPED_TRACE(std::string(pattern) + " " + spec);
      for (const Feed& feed : {Feed{}, bucketed_feed(), local_feed()}) {
        ReplayOptions options;
        options.compressor = CompressorRules::parse(spec);
        options.feed = feed;
        if (feed.local_steps > 1 && std::string(spec) == "variance") continue;  // of one step each
        // Dropped elements go back before a checkpoint, else with the next step.
        saves_each_step_ = feed.overlap == Overlap::kBucket && feed.local_steps == 1;
        expect_same(options, 3, pattern, feed.local_steps == 1 ? 3 : 4);
      }
    }
}

TEST_F(DeviceReplayTest, WhatAPatternQuantisesFirstIsQuantisedThere) {
  for (const char* pattern : {"qgz", "qgz:group=4,gather=int4", "qgz:group=1,block=32,gather=fp32"})
    for (const char* spec : {"none", "fedavg:delay=2"})
      for (const Feed& feed : {Feed{}, bucketed_feed(), local_feed()}) {
        SCOPED_TRACE(std::string(pattern) + " " + spec);
        ReplayOptions options;
        options.compressor = parse_spec(spec);
        options.feed = feed;
        expect_same(options, 4, pattern);
      }
}

// Every float has a code of 4 bits, every 256 have a scale of 4 bytes: half a byte and a
// sixty-fourth.
TEST_F(DeviceReplayTest, FloatsStayThereInStepsThatNobodyChecks) {
  ReplayOptions options;
  for (const Feed& feed : {Feed{}, bucketed_feed()}) {
    SCOPED_TRACE(feed.to_string());
    options.feed = feed;
    std::vector<std::shared_ptr<cuda::BytesDown>> down;
    for (int rank = 0; rank < 2; ++rank) down.push_back(std::make_shared<cuda::BytesDown>());
    play_ = [&](int rank) { return cuda::counting(cuda::play_rank_device(1), down[rank]); };
    const std::size_t floats = Trace(folder_ / "trace").elements();
    constexpr std::uint64_t kSteps = 3;
    checks_ = false;
    run(options, true, 2, kSteps, "qgz");
    for (const auto& one : down) {
      EXPECT_EQ(one->waited_for, 0U);
      EXPECT_GT(one->beside, kSteps * floats / 2);
      EXPECT_LT(one->beside, kSteps * floats * 9 / 16);
    }
    // Where they are checked aggregates come down, and the floats of which own codes were made.
    checks_ = true;
    run(options, true, 2, kSteps, "qgz");
    for (const auto& one : down) EXPECT_EQ(one->waited_for, kSteps * 2 * floats * sizeof(float));
  }
}

}  // namespace
}  // namespace thinpipe
