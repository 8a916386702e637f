// Collectives that change sums during the exchange: select elements again, or quantise arrays.
#include <memory>

#include "tests/cuda/replay/device_replay.h"
#include "tests/cuda/simulated/counting_device.h"
#include "tests/cuda/simulated/simulated_device.h"

namespace thinpipe {
namespace {

TEST_F(DeviceReplayTest, ElementsThatAreSelectedAgainOnTheirWay) {
  for (const char* collective : {"gtopk", "gtopk:putback=sender", "oktopk:thresholds=2,regions=2"})
    for (const char* spec :
         {"topk:ratio=0.01", "dgc:ratio=0.01", "sidco:ratio=0.01", "ef21:ratio=0.01",
          "topk:ratio=0.01,memory=none", "topk:ratio=0.01,memory=clear,delay=2",
          "topk:ratio=0.02,memory=momentum,clip=0.5", "topk:ratio=0.01,values=exp4",
          "threshold:tau=0.001,positions=golomb", "variance",
          "tensor-3:none;tensor-0:threshold:tau=0.001;*:topk:ratio=0.1"}) {
      SCOPED_TRACE(std::string(collective) + " " + spec);
      for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing(), local_bucketing()}) {
        ReplayOptions options;
        options.compressor = CompressorRules::parse(spec);
        options.bucketing = bucketing;
        // Second moments are those of a single step.
        if (bucketing.local_steps > 1 && std::string(spec) == "variance") continue;
        // Dropped elements are restored before a checkpoint, otherwise in the next step.
        saves_each_step_ = bucketing.overlap == Overlap::kBucket && bucketing.local_steps == 1;
        expect_same(options, 3, collective, bucketing.local_steps == 1 ? 3 : 4);
      }
    }
}

TEST_F(DeviceReplayTest, TheFirstQuantisationOfACollectiveRunsOnTheGpu) {
  for (const char* collective :
       {"qgz", "qgz:group=4,gather=int4", "qgz:group=1,block=32,gather=fp32"})
    for (const char* spec : {"none", "fedavg:delay=2"})
      for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing(), local_bucketing()}) {
        SCOPED_TRACE(std::string(collective) + " " + spec);
        ReplayOptions options;
        options.compressor = parse_spec(spec);
        options.bucketing = bucketing;
        expect_same(options, 4, collective);
      }
}

// A float takes a code of 4 bits, and 256 floats a scale of 4 bytes: 1/2 + 1/64 bytes per float.
TEST_F(DeviceReplayTest, FloatsStayOnTheGpuInUncheckedSteps) {
  ReplayOptions options;
  for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing()}) {
    SCOPED_TRACE(bucketing.to_string());
    options.bucketing = bucketing;
    std::vector<std::shared_ptr<cuda::BytesDown>> down;
    for (int rank = 0; rank < 2; ++rank) down.push_back(std::make_shared<cuda::BytesDown>());
    make_device_ = [&](int rank) {
      return cuda::counting(cuda::simulated_rank_device(1), down[rank]);
    };
    const std::size_t floats = Trace(folder_ / "trace").elements();
    constexpr std::uint64_t kSteps = 3;
    checks_ = false;
    run(options, true, 2, kSteps, "qgz");
    for (const auto& one : down) {
      EXPECT_EQ(one->waited_for, 0U);
      EXPECT_GT(one->beside, kSteps * floats / 2);
      EXPECT_LT(one->beside, kSteps * floats * 9 / 16);
    }
    // For checks, the aggregates are downloaded, and the floats from which the codes were made.
    checks_ = true;
    run(options, true, 2, kSteps, "qgz");
    for (const auto& one : down) EXPECT_EQ(one->waited_for, kSteps * 2 * floats * sizeof(float));
  }
}

}  // namespace
}  // namespace thinpipe
