// Malformed payloads, which GPU compressors must refuse as the CPU implementation does.
#include <gtest/gtest.h>

#include "base/splitmix64.h"
#include "tests/cuda/side_by_side.h"

namespace thinpipe::cuda {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// Damages payloads of the first tensor and expects both implementations to agree.
void expect_refusals(SideBySide& both) {
  const std::vector<std::byte> payload = both.payload(0);
  SplitMix64 random(5);
  int refusals = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::byte> damaged = payload;
    for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
      // Half of the flips hit the first bytes, which determine the meaning of the others.
      const std::size_t within = random.below(2) == 0 ? 4 : damaged.size();
      damaged[random.below(within)] ^= static_cast<std::byte>(1U << random.below(8));
    }
    if (random.below(4) == 0) damaged.resize(random.below(damaged.size() + 1));
    SCOPED_TRACE("damage " + std::to_string(i));
    refusals += both.refuses(damaged) ? 1 : 0;
  }
  EXPECT_GT(refusals, 50);
}

void expect_damage_refused(const OpenDevice& open, const std::string& spec, std::size_t elements) {
  SCOPED_TRACE(spec);
  SideBySide both = opened(open, spec, {elements});
  both.step({drawn(elements, 1)});
  expect_refusals(both);
}

void expect_damaged_matrix_refused(const OpenDevice& open) {
  const TestDevice device = open(1);
  SideBySide both(device.device, device.make, "onebit",
                  std::vector<std::vector<std::int64_t>>{{7, 43}});
  both.step({drawn(301, 1)});
  expect_refusals(both);
}

}  // namespace

void expect_malformed_payloads_refused(const OpenDevice& open) {
  SideBySide both = opened(open, "topk:ratio=0.1", {300});
  EXPECT_FALSE(both.refuses(bytes_of({0})));
  EXPECT_FALSE(both.refuses(bytes_of({1, 0, 0, 128, 63, 199, 0, 0, 0})));
  EXPECT_TRUE(both.refuses({}));
  EXPECT_TRUE(both.refuses(bytes_of({0, 0})));                           // too long
  EXPECT_TRUE(both.refuses(bytes_of({1, 0, 0, 128, 63, 199, 0, 0})));    // too short
  EXPECT_TRUE(both.refuses(bytes_of({1, 0, 0, 128, 63, 44, 1, 0, 0})));  // 300
  EXPECT_TRUE(both.refuses(bytes_of({0x80, 0})));                        // not shortest
  EXPECT_TRUE(both.refuses(bytes_of({0x80})));                           // no end
  EXPECT_TRUE(both.refuses(bytes_of({0xff, 0xff, 0xff, 0xff, 0xff})));   // too many
  EXPECT_TRUE(both.refuses(bytes_of({2, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0})));
  for (const char* spec : {"topk:ratio=0.1,positions=index28",
                           "topk:ratio=0.1,positions=bitmap",
                           "topk:ratio=0.1,positions=run16",
                           "topk:ratio=0.1,positions=golomb",
                           "topk:ratio=0.9,positions=golomb",
                           "topk:ratio=0.1,values=fp16",
                           "topk:ratio=0.1,values=bf16",
                           "topk:ratio=0.1,values=int8",
                           "topk:ratio=0.1,values=sign",
                           "topk:ratio=0.1,values=mean",
                           "strom:tau=0.05",
                           "randomk:ratio=0.1",
                           "sbc:p=0.1",
                           "topk:ratio=0.1,values=exp4",
                           "hybrid:tau=0.02",
                           "topk:ratio=0.1,values=int2",
                           "topk:ratio=0.1,positions=packed",
                           "topk:ratio=0.5,values=mean,positions=packed",
                           "topk:ratio=0.1,positions=elias_gamma",
                           "topk:ratio=0.1,positions=elias_delta",
                           "sparseloco:chunk=64,k=9",
                           "sparseloco:chunk=64,k=20,values=exp4",
                           "sparseloco:chunk=64,k=64,values=fp32"})
    expect_damage_refused(open, spec, 301);
  for (const char* positions :
       {"index28", "bitmap", "run16", "golomb", "packed", "elias_gamma", "elias_delta"})
    expect_damage_refused(open, std::string("topk:ratio=0.1,positions=") + positions, 70001);
  for (const char* spec : {"topk:ratio=0.1",
                           "none",
                           "fp16",
                           "bf16",
                           "int8",
                           "signsgd",
                           "3lc:s=1.5",
                           "3lc:zre=false",
                           "stoch3",
                           "natural",
                           "int8:bucket=50",
                           "efsignsgd",
                           "mqe1bit:bucket=100",
                           "onebit",
                           "terngrad",
                           "qsgd:bits=3,bucket=33",
                           "blockint8",
                           "fp8",
                           "fp8:format=e5m2,scale=f16",
                           "mxfp4",
                           "blockint4",
                           "sdp4bit",
                           "thc",
                           "thc:bits=8,block=256",
                           "qsgd:coding=elias",
                           "qsgd:coding=elias,bits=8,bucket=20",
                           "demo",
                           "demo:chunk=16,values=exp4"})
    expect_damage_refused(open, spec, 301);
  expect_damage_refused(open, "3lc:s=1.9", 50001);
  expect_damage_refused(open, "3lc:s=1.9,bucket=100", 50001);
  expect_damage_refused(open, "3lc:s=1.9,bucket=101", 50001);
  expect_damage_refused(open, "3lc:zre=false,bucket=33", 301);
  expect_damage_refused(open, "3lc:s=1.9,bucket=7", 5001);
  expect_damage_refused(open, "3lc:zre=false,bucket=1", 301);
  expect_damage_refused(open, "qsgd:bits=3,bucket=5", 301);
  expect_damage_refused(open, "sparseloco:chunk=64,k=20,values=exp4", 70001);
  expect_damage_refused(open, "qsgd:coding=elias,bits=5,bucket=0", 20001);
  expect_damage_refused(open, "qsgd:coding=elias,bits=3,bucket=1000", 5001);
  expect_damage_refused(open, "qsgd:coding=elias,bits=4,bucket=5000", 12001);
  expect_damage_refused(open, "qsgd:coding=elias,bits=3,bucket=4096", 9001);
  expect_damage_refused(open, "qsgd:coding=elias,bits=8,bucket=1024", 1500);
  // Payloads of several segments.
  expect_damage_refused(open, "topk:ratio=0.5,positions=packed", 150001);
  expect_damage_refused(open, "topk:ratio=1,positions=packed", 70001);
  expect_damage_refused(open, "qsgd:bits=3,bucket=5000", 12001);
  expect_damage_refused(open, "3lc:bucket=5000,s=1.9", 12001);
  expect_damaged_matrix_refused(open);
}

}  // namespace thinpipe::cuda
