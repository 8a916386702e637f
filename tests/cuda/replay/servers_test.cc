// Parameter servers whose workers' gradients lie on a device.
#include "tests/cuda/replay/device_replay.h"

namespace thinpipe {
namespace {

TEST_F(DeviceReplayTest, ServersAnswersAreDecodedThere) {
  for (const char* servers : {"ps:servers=2", "ps:pull=int8", "ps:pull=fp16", "ps:pull=powersgd"})
    for (const char* spec :
         {"none", "3lc", "terngrad", "tensor-0:topk:ratio=0.1;*:fedavg:delay=2"}) {
      SCOPED_TRACE(std::string(servers) + " " + spec);
      for (const Feed& feed : {Feed{}, bucketed_feed(), local_feed()}) {
        ReplayOptions options;
        options.servers = push_pull_options(parse_spec(servers), 2);
        options.compressor = CompressorRules::parse(spec);
        options.feed = feed;
        expect_same(options, 2);
      }
    }
}

// Every rank averages slices on its processor; they are encoded, and answers decoded, on devices.
TEST_F(DeviceReplayTest, SlicesAreEncodedAndDecodedThere) {
  for (const char* pattern : {"twoshot", "twoshot:second=(int8:bucket=512)"})
    for (const char* spec : {"none", "blockint4", "topk:ratio=0.05", "fp16:memory=residual"}) {
      SCOPED_TRACE(std::string(pattern) + " " + spec);
      for (const Feed& feed : {Feed{}, bucketed_feed(), local_feed()}) {
        ReplayOptions options;
        options.servers = push_pull_options(parse_spec(pattern), 3);
        options.compressor = CompressorRules::parse(spec);
        options.feed = feed;
        expect_same(options, 3);
      }
    }
}

// 16-bit payloads come down, are summed by processors, and means go up as floats.
TEST_F(DeviceReplayTest, SumsIn16Bits) {
  for (const char* spec : {"fp16", "bf16:predivide=false,memory=residual",
                           "tensor-0:none;tensor-1:bf16;*:fp16", "tensor-0:powersgd:rank=2;*:bf16"})
    for (const Feed& feed : {Feed{}, bucketed_feed(), local_feed()}) {
      SCOPED_TRACE(std::string(spec) + " " + feed.to_string());
      ReplayOptions options;
      options.compressor = CompressorRules::parse(spec);
      options.feed = feed;
      expect_same(options, 3, "ring");
    }
}

}  // namespace
}  // namespace thinpipe
