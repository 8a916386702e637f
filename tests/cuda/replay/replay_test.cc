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
        "fedavg:delay=2", "sbc:p=0.01,delay=2", "ef21:ratio=0.01"})
    expect_same(options_of(spec), 3);
}

TEST_F(DeviceReplayTest, EndsWithTheSameBitsOfSharedScales) {
  for (const char* spec : {"terngrad", "terngrad:memory=residual,delay=2", "thc"})
    for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing()})
      expect_same(options_of(spec, bucketing), 2);
}

TEST_F(DeviceReplayTest, SeveralCompressorsHaveTheirOwnTensors) {
  for (const char* rules :
       {"tensor-0:topk:ratio=0.1;tensor-3:3lc;*:none", "tensor-3:none;*:fedavg:delay=1",
        "tensor-0:sbc:p=0.1,delay=2;*:topk:ratio=0.01"})
    expect_same(options_of(rules), 3);
}

TEST_F(DeviceReplayTest, BucketsAreEncodedDuringOtherExchanges) {
  const Bucketing inline_codec = bucketed_bucketing();
  Bucketing beside = inline_codec, joined = inline_codec, model;
  joined.granularity = Granularity::kBucket;
  beside.codec_beside = true;
  model.granularity = Granularity::kModel;
  for (const Bucketing& bucketing : {inline_codec, beside, joined, model})
    for (const char* spec : {"topk:ratio=0.05", "int8", "none", "sbc:p=0.01,delay=2"})
      expect_same(options_of(spec, bucketing), 3);
}

TEST_F(DeviceReplayTest, ByAnyCollectiveThatAllGathers) {
  for (const char* collective :
       {"recursive-doubling", "halving-doubling", "tree", "hierarchical:group=2"})
    for (const char* spec : {"none", "int8"}) expect_same(options_of(spec), 4, collective, 2);
  expect_same(options_of("topk:ratio=0.01"), 1);
}

TEST_F(DeviceReplayTest, LocalStepsAreAddedUpOnTheGpu) {
  Bucketing at_once;
  at_once.local_steps = 2;
  for (const char* spec : {"none", "topk:ratio=0.05", "terngrad", "sbc:p=0.01,delay=2"}) {
    expect_same(options_of(spec, at_once), 3, "ring", 5);
    expect_same(options_of(spec, local_bucketing()), 2, "ring", 5);
  }
}

TEST_F(DeviceReplayTest, AnOuterOptimiserRunsOnTheGpu) {
  Bucketing bucketing = bucketed_bucketing();
  bucketing.outer = OuterOptions{};
  for (const std::uint64_t local_steps : {1, 2})
    for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket})
      for (const char* spec : {"none", "int8"}) {
        bucketing.local_steps = local_steps;
        bucketing.overlap = overlap;
        expect_same(options_of(spec, bucketing), 2);
      }
}

TEST_F(DeviceReplayTest, PayloadsStayOnTheGpuIfTheCollectiveTakesDevicePointers) {
  for (const char* rules : {"topk:ratio=0.05", "fp16", "terngrad", "none",
                            "tensor-3:none;*:topk:ratio=0.1", "sbc:p=0.01,delay=2"})
    for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing()}) {
      SCOPED_TRACE(rules);
      ReplayOptions options = options_of(rules, bucketing);
      expect_same(options, 3, kBetweenDevices);
      options.time_scale = 2;  // uses copies to the host, which can be slowed down
      for (const std::vector<Stepped>& steps : run(options, true, 2, 2, kBetweenDevices))
        EXPECT_GT(steps[1].report.copy_down, 0);
    }
}

// Rounds of all-reduces.

TEST_F(DeviceReplayTest, RoundsOfAllReducesEndWithTheSameBits) {
  for (const char* rules :
       {"powersgd", "powersgd:rank=2,memory=ef21,delay=2", "powersgd:rank=1,warm=false,memory=none",
        "tensor-3:powersgd;tensor-0:powersgd:rank=2;*:none", "tensor-3:powersgd;*:topk:ratio=0.1"})
    expect_same(options_of(rules), 3);
  ReplayOptions options = options_of("powersgd:rank=2");
  for (const char* collective : {"recursive-doubling", "tree"})
    expect_same(options, 4, collective, 2);
  expect_same(options, 1);
  options.bucketing.local_steps = 2;
  options.bucketing.outer = OuterOptions{};
  expect_same(options, 2, "ring", 5);
  options.bucketing = {};
  options.bucketing.granularity = Granularity::kModel;
  expect_same(options, 2);  // a vector, of one round
}

// Matrices in three buckets: the GPU works on one bucket between all-reduces while it encodes
// another.
TEST_F(DeviceReplayTest, RoundsOfSomeBucketsGoOnWhileOthersAreEncoded) {
  make_trace({{40, 50}, {60, 50}, {7}, {50, 60}, {20}});
  Bucketing beside = bucketed_bucketing(), delayed = local_bucketing();
  beside.codec_beside = true;
  delayed.outer = OuterOptions{};
  for (const char* rules :
       {"powersgd:rank=2", "powersgd:memory=ef21,delay=2", "tensor-3:powersgd;*:none",
        "tensor-3:powersgd;tensor-1:topk:ratio=0.1;*:powersgd:rank=1"})
    for (const Bucketing& bucketing : {bucketed_bucketing(), beside, delayed})
      expect_same(options_of(rules, bucketing), 3);
}

// Parameter servers.

TEST_F(DeviceReplayTest, ServersAnswersAreDecodedOnTheGpu) {
  for (const char* servers : {"ps:servers=2", "ps:pull=int8", "ps:pull=fp16", "ps:pull=powersgd"})
    for (const char* spec : {"none", "3lc", "terngrad", "tensor-0:topk:ratio=0.1;*:fedavg:delay=2"})
      expect_same_with_servers(spec, servers, 2);
}

// The CPU of every rank averages slices; the GPU encodes them and decodes the answers.
TEST_F(DeviceReplayTest, SlicesAreEncodedAndDecodedOnTheGpu) {
  for (const char* collective : {"twoshot", "twoshot:second=(int8:bucket=512)"})
    for (const char* spec : {"none", "blockint4", "topk:ratio=0.05", "fp16:memory=residual"})
      expect_same_with_servers(spec, collective, 3);
}

// 16-bit payloads are downloaded and summed on the CPU; the means are uploaded as floats.
TEST_F(DeviceReplayTest, SumsIn16Bits) {
  for (const char* spec : {"fp16", "bf16:predivide=false,memory=residual",
                           "tensor-0:none;tensor-1:bf16;*:fp16", "tensor-0:powersgd:rank=2;*:bf16"})
    for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing(), local_bucketing()})
      expect_same(options_of(spec, bucketing), 3, "ring");
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

// Time dilation: with time scales above 1, copies between device and host are slowed down like
// links.

// Expects codec and copies one after the other within a step.
void expect_slowed(const StepReport& report, double time_scale) {
  EXPECT_GE(report.total, time_scale * (report.codec + report.copy_down + report.copy_up) * 0.999);
}

// Expects the codec, then copies that take `copies` s by the device's clock.
void expect_slowed(const StepReport& report, double time_scale, double copies) {
  EXPECT_GT(copies, 0);
  EXPECT_GE(report.total, time_scale * (report.codec + copies) * 0.999);
  EXPECT_GE(report.compress, time_scale * report.codec * 0.999);
}

// Calls check(report) for every rank and step but the first step, which allocates buffers.
void each_report(const auto& all, const auto& check) {
  for (const auto& steps : all)
    for (std::size_t step = 1; step < steps.size(); ++step) check(steps[step].report);
}

constexpr double kScale = 50;

ReplayOptions dilated(const std::string& rules, double time_scale = kScale) {
  ReplayOptions options = options_of(rules);
  options.time_scale = time_scale;
  return options;
}

TEST_F(DeviceReplayTest, TimeDilationChangesOnlyTimes) {
  for (const Overlap overlap : {Overlap::kNone, Overlap::kBucket})
    for (const char* spec : {"none", "topk:ratio=0.05", "terngrad"}) {
      ReplayOptions options = dilated(spec, 3);
      options.bucketing.overlap = overlap;
      expect_same(options, 2);
    }
}

// Sums are uploaded to the GPU when they are decoded, at the end of a step. Time dilation does not
// apply to this upload.
TEST_F(DeviceReplayTest, DownloadsOfSumsAreDilated) {
  for (const char* spec : {"none", "fp16"}) {
    SCOPED_TRACE(spec);
    each_report(run(dilated(spec), true, 2, 3, "ring"),
                [](const StepReport& report) { expect_slowed(report, kScale, report.copy_down); });
  }
}

TEST_F(DeviceReplayTest, CopiesOfAllGatheredPayloadsAreDilated) {
  for (const char* spec : {"terngrad", "topk:ratio=0.1"}) {
    SCOPED_TRACE(spec);
    each_report(run(dilated(spec), true, 2, 3, "ring"), [](const StepReport& report) {
      EXPECT_GT(report.copy_down, 0);
      EXPECT_GT(report.copy_up, 0);
      // Both directions overlap.
      expect_slowed(report, kScale, std::max(report.copy_down, report.copy_up));
    });
  }
}

TEST_F(DeviceReplayTest, DownloadsOfCodesAreDilated) {
  ReplayOptions options = dilated("none");
  for (const Bucketing& bucketing : {bucketed_bucketing(), Bucketing{}}) {
    options.bucketing = bucketing;
    expect_same(options, 2, "qgz", 2);
  }
  each_report(run(options, true, 2, 3, "qgz:group=1"), [](const StepReport& report) {
    // The host waits while the GPU quantises; sums are uploaded when they are decoded.
    EXPECT_GT(report.codec, 0);
    expect_slowed(report, kScale, report.copy_down);
  });
}

TEST_F(DeviceReplayTest, CopiesBetweenRoundsAreDilated) {
  const ReplayOptions options = dilated("powersgd", 20);
  expect_same(options, 2, "ring", 2);
  each_report(run(options, true, 2, 3, "ring"), [](const StepReport& report) {
    EXPECT_GT(report.codec, 0);
    // These copies do not overlap, unlike those of payloads.
    expect_slowed(report, 20);
    EXPECT_GE(report.compress, 20 * report.codec * 0.999);
  });
}

TEST_F(DeviceReplayTest, UploadsOfSelectedElementsAreDilated) {
  const ReplayOptions options = dilated("topk:ratio=0.1,memory=none");  // nothing to restore
  each_report(run(options, true, 2, 3, "gtopk"), [](const StepReport& report) {
    EXPECT_GT(report.copy_up, 0);
    expect_slowed(report, kScale);
  });
}

TEST_F(DeviceReplayTest, UploadsOfServersAnswersAreDilated) {
  ReplayOptions options = dilated("fp16");
  options.servers = PushPullOptions{};
  each_report(run(options, true, 2, 3, ""), [](const StepReport& report) {
    EXPECT_GT(report.copy_up, 0);
    // An answer waits for the pushed payloads.
    expect_slowed(report, kScale);
  });
}

}  // namespace
}  // namespace thinpipe
