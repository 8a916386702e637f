// Replays whose gradients lie on a device, which a processor plays, beside those of the processor:
// the same payloads, aggregates and states, bit for bit.
#include "base/error.h"
#include "tests/cuda/played/played_device.h"
#include "tests/cuda/replay/device_replay.h"
#include "tests/exchange/thread_transport.h"
#include "workloads/exchange/patterns.h"

namespace thinpipe {
namespace {

TEST_F(DeviceReplayTest, EndsWithTheSameBits) {
  for (const char* spec :
       {"none", "topk:ratio=0.01", "dgc:ratio=0.01", "sidco:ratio=0.01", "3lc", "int8", "onebit",
        "topk:ratio=0.01,positions=golomb", "variance", "threshold:tau=0.001", "strom:tau=0.001",
        "fedavg:delay=2", "sbc:p=0.01,delay=2", "ef21:ratio=0.01"}) {
    SCOPED_TRACE(spec);
    ReplayOptions options;
    options.compressor = parse_spec(spec);
    expect_same(options, 3);
  }
}

TEST_F(DeviceReplayTest, EndsWithTheSameBitsOfSharedScales) {
  for (const char* spec : {"terngrad", "terngrad:memory=residual,delay=2", "thc"}) {
    SCOPED_TRACE(spec);
    ReplayOptions options;
    options.compressor = parse_spec(spec);
    expect_same(options, 2);
    options.feed.overlap = Overlap::kBucket;
    options.feed.limits = BucketLimits::parse("first=1kb,rest=10kb");
    expect_same(options, 2);
  }
}

TEST_F(DeviceReplayTest, OfSeveralCompressorsEachHasItsTensors) {
  ReplayOptions options;
  for (const char* rules :
       {"tensor-0:topk:ratio=0.1;tensor-3:3lc;*:none", "tensor-3:none;*:fedavg:delay=1",
        "tensor-0:sbc:p=0.1,delay=2;*:topk:ratio=0.01"}) {
    SCOPED_TRACE(rules);
    options.compressor = CompressorRules::parse(rules);
    expect_same(options, 3);
  }
}

TEST_F(DeviceReplayTest, BucketsAreEncodedWhileOthersAreOnTheirWay) {
  Feed inline_codec, beside, joined, model;
  inline_codec.overlap = beside.overlap = joined.overlap = Overlap::kBucket;
  inline_codec.limits = beside.limits = BucketLimits::parse("first=1kb,rest=10kb");
  joined.limits = beside.limits;
  joined.granularity = Granularity::kBucket;
  beside.codec_beside = true;
  model.granularity = Granularity::kModel;
  for (const Feed& feed : {inline_codec, beside, joined, model})
    for (const char* spec : {"topk:ratio=0.05", "int8", "none", "sbc:p=0.01,delay=2"}) {
      SCOPED_TRACE(feed.to_string() + " " + spec);
      ReplayOptions options;
      options.feed = feed;
      options.compressor = parse_spec(spec);
      expect_same(options, 3);
    }
}

TEST_F(DeviceReplayTest, ByAnyPatternThatGathers) {
  for (const char* pattern :
       {"recursive-doubling", "halving-doubling", "tree", "hierarchical:group=2"})
    for (const char* spec : {"none", "int8"}) {
      SCOPED_TRACE(std::string(pattern) + " " + spec);
      ReplayOptions options;
      options.compressor = parse_spec(spec);
      expect_same(options, 4, pattern, 2);
    }
  ReplayOptions alone;
  alone.compressor = parse_spec("topk:ratio=0.01");
  expect_same(alone, 1);
}

TEST_F(DeviceReplayTest, LocalStepsAreAddedUpThere) {
  ReplayOptions options;
  options.feed.local_steps = 2;
  for (const char* spec : {"none", "topk:ratio=0.05", "terngrad", "sbc:p=0.01,delay=2"}) {
    SCOPED_TRACE(spec);
    options.compressor = parse_spec(spec);
    options.feed.overlap = Overlap::kNone;
    expect_same(options, 3, "ring", 5);
    options.feed.overlap = Overlap::kBucket;
    options.feed.limits = BucketLimits::parse("first=1kb,rest=10kb");
    expect_same(options, 2, "ring", 5);
  }
}

TEST_F(DeviceReplayTest, AnOuterOptimiserTakesWhatLiesThere) {
  ReplayOptions options;
  options.feed.outer = OuterOptions{};
  for (const std::uint64_t local_steps : {1, 2})
    for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket})
      for (const char* spec : {"none", "int8"}) {
        SCOPED_TRACE(spec);
        options.compressor = parse_spec(spec);
        options.feed.local_steps = local_steps;
        options.feed.overlap = overlap;
        options.feed.limits = BucketLimits::parse("first=1kb,rest=10kb");
        expect_same(options, 2);
      }
}

TEST_F(DeviceReplayTest, PayloadsGoFromDeviceToDeviceWhereThePatternCan) {
  ReplayOptions options;
  for (const char* rules : {"topk:ratio=0.05", "fp16", "terngrad", "none",
                            "tensor-3:none;*:topk:ratio=0.1", "sbc:p=0.01,delay=2"})
    for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket}) {
      SCOPED_TRACE(rules);
      options.compressor = CompressorRules::parse(rules);
      options.feed.overlap = overlap;
      options.feed.limits = BucketLimits::parse("first=1kb,rest=10kb");
      options.time_scale = 1;
      expect_same(options, 3, kBetweenDevices);
      options.time_scale = 2;  // by copies that can be slowed down
      for (const std::vector<Stepped>& steps : run(options, true, 2, 2, kBetweenDevices))
        EXPECT_GT(steps[1].report.copy_down, 0);
    }
}

TEST_F(DeviceReplayTest, GoesOnFromAStateOfTheProcessors) {
  const Trace trace(folder_ / "trace");
  ReplayOptions options;
  options.compressor = parse_spec("dgc:ratio=0.01");
  options.feed.outer = OuterOptions{};
  Mailboxes boxes;
  const auto connect = [&](Replay& replay) {
    replay.connect([&](std::size_t capacity) {
      return make_pattern(parse_spec("ring"), std::make_unique<ThreadTransport>(boxes, 0, 1),
                          capacity);
    });
  };
  Replay here(trace, options, 0, 1);
  connect(here);
  here.step(0);
  std::vector<std::byte> state;
  here.save_state(state);
  options.device = cuda::play_rank_device(3);
  Replay there(trace, options, 0, 1);
  connect(there);
  ByteReader reader(state);
  there.load_state(reader);
  here.step(1);
  there.load(1);
  there.step(1);
  there.fetch();
  const auto a = here.aggregate(), b = there.aggregate();
  EXPECT_TRUE(same_bits({a.begin(), a.end()}, {b.begin(), b.end()}));
  const auto c = here.update(), d = there.update();
  EXPECT_TRUE(same_bits({c.begin(), c.end()}, {d.begin(), d.end()}));
  std::vector<std::byte> after, after_there;
  here.save_state(after);
  there.save_state(after_there);
  EXPECT_TRUE(after == after_there);
}

TEST_F(DeviceReplayTest, WhatIsNotDoneThereIsRefused) {
  const Trace trace(folder_ / "trace");
  const auto refused = [&](const ReplayOptions& options) {
    ReplayOptions own = options;
    own.device = cuda::play_rank_device(1);
    EXPECT_THROW(Replay(trace, own, 0, 2), InputError);
  };
  ReplayOptions options;
  options.compressor = parse_spec("int8");  // no elements with positions
  options.sparse_sums = true;
  refused(options);
  options.compressor = parse_spec("topk");
  options.sparse_sums = false;
  options.time_scale = 0.5;
  refused(options);
}

}  // namespace
}  // namespace thinpipe
