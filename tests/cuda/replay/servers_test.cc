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

}  // namespace
}  // namespace thinpipe
