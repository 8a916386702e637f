// Rounds of all-reduces with compressors on a simulated GPU.
#include "tests/cuda/replay/device_replay.h"

namespace thinpipe {
namespace {

TEST_F(DeviceReplayTest, RoundsOfAllReducesEndWithTheSameBits) {
  ReplayOptions options;
  for (const char* rules :
       {"powersgd", "powersgd:rank=2,memory=ef21,delay=2", "powersgd:rank=1,warm=false,memory=none",
        "tensor-3:powersgd;tensor-0:powersgd:rank=2;*:none",
        "tensor-3:powersgd;*:topk:ratio=0.1"}) {
    SCOPED_TRACE(rules);
    options.compressor = CompressorRules::parse(rules);
    expect_same(options, 3);
  }
  options.compressor = parse_spec("powersgd:rank=2");
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
    for (const Bucketing& bucketing : {bucketed_bucketing(), beside, delayed}) {
      SCOPED_TRACE(std::string(rules) + " " + bucketing.to_string());
      ReplayOptions options;
      options.compressor = CompressorRules::parse(rules);
      options.bucketing = bucketing;
      expect_same(options, 3);
    }
}

}  // namespace
}  // namespace thinpipe
