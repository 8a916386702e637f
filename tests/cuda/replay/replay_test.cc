// Replays with gradients on a simulated GPU, compared with replays on the CPU: payloads, aggregates
// and states are bit for bit the same.
#include "base/error.h"
#include "tests/collectives/thread_transport.h"
#include "tests/cuda/replay/device_replay.h"
#include "tests/cuda/simulated/simulated_device.h"
#include "workloads/collectives/collectives.h"

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
    options.bucketing.overlap = Overlap::kBucket;
    options.bucketing.limits = BucketLimits::parse("first=1kb,rest=10kb");
    expect_same(options, 2);
  }
}

TEST_F(DeviceReplayTest, SeveralCompressorsHaveTheirOwnTensors) {
  ReplayOptions options;
  for (const char* rules :
       {"tensor-0:topk:ratio=0.1;tensor-3:3lc;*:none", "tensor-3:none;*:fedavg:delay=1",
        "tensor-0:sbc:p=0.1,delay=2;*:topk:ratio=0.01"}) {
    SCOPED_TRACE(rules);
    options.compressor = CompressorRules::parse(rules);
    expect_same(options, 3);
  }
}

TEST_F(DeviceReplayTest, BucketsAreEncodedDuringOtherExchanges) {
  Bucketing inline_codec, beside, joined, model;
  inline_codec.overlap = beside.overlap = joined.overlap = Overlap::kBucket;
  inline_codec.limits = beside.limits = BucketLimits::parse("first=1kb,rest=10kb");
  joined.limits = beside.limits;
  joined.granularity = Granularity::kBucket;
  beside.codec_beside = true;
  model.granularity = Granularity::kModel;
  for (const Bucketing& bucketing : {inline_codec, beside, joined, model})
    for (const char* spec : {"topk:ratio=0.05", "int8", "none", "sbc:p=0.01,delay=2"}) {
      SCOPED_TRACE(bucketing.to_string() + " " + spec);
      ReplayOptions options;
      options.bucketing = bucketing;
      options.compressor = parse_spec(spec);
      expect_same(options, 3);
    }
}

TEST_F(DeviceReplayTest, ByAnyCollectiveThatAllGathers) {
  for (const char* collective :
       {"recursive-doubling", "halving-doubling", "tree", "hierarchical:group=2"})
    for (const char* spec : {"none", "int8"}) {
      SCOPED_TRACE(std::string(collective) + " " + spec);
      ReplayOptions options;
      options.compressor = parse_spec(spec);
      expect_same(options, 4, collective, 2);
    }
  ReplayOptions alone;
  alone.compressor = parse_spec("topk:ratio=0.01");
  expect_same(alone, 1);
}

TEST_F(DeviceReplayTest, LocalStepsAreAddedUpOnTheGpu) {
  ReplayOptions options;
  options.bucketing.local_steps = 2;
  for (const char* spec : {"none", "topk:ratio=0.05", "terngrad", "sbc:p=0.01,delay=2"}) {
    SCOPED_TRACE(spec);
    options.compressor = parse_spec(spec);
    options.bucketing.overlap = Overlap::kNone;
    expect_same(options, 3, "ring", 5);
    options.bucketing.overlap = Overlap::kBucket;
    options.bucketing.limits = BucketLimits::parse("first=1kb,rest=10kb");
    expect_same(options, 2, "ring", 5);
  }
}

TEST_F(DeviceReplayTest, AnOuterOptimiserRunsOnTheGpu) {
  ReplayOptions options;
  options.bucketing.outer = OuterOptions{};
  for (const std::uint64_t local_steps : {1, 2})
    for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket})
      for (const char* spec : {"none", "int8"}) {
        SCOPED_TRACE(spec);
        options.compressor = parse_spec(spec);
        options.bucketing.local_steps = local_steps;
        options.bucketing.overlap = overlap;
        options.bucketing.limits = BucketLimits::parse("first=1kb,rest=10kb");
        expect_same(options, 2);
      }
}

TEST_F(DeviceReplayTest, PayloadsStayOnTheGpuIfTheCollectiveTakesDevicePointers) {
  ReplayOptions options;
  for (const char* rules : {"topk:ratio=0.05", "fp16", "terngrad", "none",
                            "tensor-3:none;*:topk:ratio=0.1", "sbc:p=0.01,delay=2"})
    for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket}) {
      SCOPED_TRACE(rules);
      options.compressor = CompressorRules::parse(rules);
      options.bucketing.overlap = overlap;
      options.bucketing.limits = BucketLimits::parse("first=1kb,rest=10kb");
      options.time_scale = 1;
      expect_same(options, 3, kBetweenDevices);
      options.time_scale = 2;  // uses copies to the host, which can be slowed down
      for (const std::vector<Stepped>& steps : run(options, true, 2, 2, kBetweenDevices))
        EXPECT_GT(steps[1].report.copy_down, 0);
    }
}

TEST_F(DeviceReplayTest, ContinuesFromACpuCheckpoint) {
  const Trace trace(folder_ / "trace");
  ReplayOptions options;
  options.compressor = parse_spec("dgc:ratio=0.01");
  options.bucketing.outer = OuterOptions{};
  Mailboxes boxes;
  const auto connect = [&](Replay& replay) {
    replay.connect([&](std::size_t capacity) {
      return make_collective(parse_spec("ring"), std::make_unique<ThreadTransport>(boxes, 0, 1),
                             capacity);
    });
  };
  Replay cpu(trace, options, 0, 1);
  connect(cpu);
  cpu.step(0);
  std::vector<std::byte> state;
  cpu.save_state(state);
  options.device = cuda::simulated_rank_device(3);
  Replay gpu(trace, options, 0, 1);
  connect(gpu);
  ByteReader reader(state);
  gpu.load_state(reader);
  cpu.step(1);
  gpu.load(1);
  gpu.step(1);
  gpu.fetch();
  const auto a = cpu.aggregate(), b = gpu.aggregate();
  EXPECT_TRUE(same_bits({a.begin(), a.end()}, {b.begin(), b.end()}));
  const auto c = cpu.update(), d = gpu.update();
  EXPECT_TRUE(same_bits({c.begin(), c.end()}, {d.begin(), d.end()}));
  std::vector<std::byte> cpu_state, gpu_state;
  cpu.save_state(cpu_state);
  gpu.save_state(gpu_state);
  EXPECT_TRUE(cpu_state == gpu_state);
}

TEST_F(DeviceReplayTest, WhatTheGpuDoesNotSupportIsRefused) {
  const Trace trace(folder_ / "trace");
  const auto refused = [&](const ReplayOptions& options) {
    ReplayOptions own = options;
    own.device = cuda::simulated_rank_device(1);
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
