// Parameter servers whose workers' gradients are on a simulated GPU.
#include "tests/cuda/replay/device_replay.h"

namespace thinpipe {
namespace {

TEST_F(DeviceReplayTest, ServersAnswersAreDecodedOnTheGpu) {
  for (const char* servers : {"ps:servers=2", "ps:pull=int8", "ps:pull=fp16", "ps:pull=powersgd"})
    for (const char* spec :
         {"none", "3lc", "terngrad", "tensor-0:topk:ratio=0.1;*:fedavg:delay=2"}) {
      SCOPED_TRACE(std::string(servers) + " " + spec);
      for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing(), local_bucketing()}) {
        ReplayOptions options;
        options.servers = push_pull_options(parse_spec(servers), 2);
        options.compressor = CompressorRules::parse(spec);
        options.bucketing = bucketing;
        expect_same(options, 2);
      }
    }
}

// The CPU of every rank averages slices; the GPU encodes them and decodes the answers.
TEST_F(DeviceReplayTest, SlicesAreEncodedAndDecodedOnTheGpu) {
  for (const char* collective : {"twoshot", "twoshot:second=(int8:bucket=512)"})
    for (const char* spec : {"none", "blockint4", "topk:ratio=0.05", "fp16:memory=residual"}) {
      SCOPED_TRACE(std::string(collective) + " " + spec);
      for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing(), local_bucketing()}) {
        ReplayOptions options;
        options.servers = push_pull_options(parse_spec(collective), 3);
        options.compressor = CompressorRules::parse(spec);
        options.bucketing = bucketing;
        expect_same(options, 3);
      }
    }
}

// 16-bit payloads are downloaded and summed on the CPU; the means are uploaded as floats.
TEST_F(DeviceReplayTest, SumsIn16Bits) {
  for (const char* spec : {"fp16", "bf16:predivide=false,memory=residual",
                           "tensor-0:none;tensor-1:bf16;*:fp16", "tensor-0:powersgd:rank=2;*:bf16"})
    for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing(), local_bucketing()}) {
      SCOPED_TRACE(std::string(spec) + " " + bucketing.to_string());
      ReplayOptions options;
      options.compressor = CompressorRules::parse(spec);
      options.bucketing = bucketing;
      expect_same(options, 3, "ring");
    }
}

}  // namespace
}  // namespace thinpipe
