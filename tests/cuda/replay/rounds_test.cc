// Rounds of all-reduces whose compressors run on a device.
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
  for (const char* pattern : {"recursive-doubling", "tree"}) expect_same(options, 4, pattern, 2);
  expect_same(options, 1);
  options.feed.local_steps = 2;
  options.feed.outer = OuterOptions{};
  expect_same(options, 2, "ring", 5);
  options.feed = {};
  options.feed.granularity = Granularity::kModel;
  expect_same(options, 2);  // a vector, of one round
}

}  // namespace
}  // namespace thinpipe
