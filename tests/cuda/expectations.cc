// What compressors on any device must do.
#include <gtest/gtest.h>

#include <limits>

#include "base/splitmix64.h"
#include "tests/cuda/twins.h"

namespace thinpipe::cuda {
namespace {

/// One size below, at and above every boundary: a row, a warp's stretch, a tile, a block of sums,
/// what is sampled from, and a tensor of several of each.
const std::vector<std::size_t> kSizes = {0,    1,     2,     63,    64,    65,   255,
                                         256,  257,   4095,  4096,  4097,  8191, 8192,
                                         8193, 32767, 32768, 32769, 40000, 70001};

std::vector<std::vector<float>> gradients(const std::vector<std::size_t>& sizes,
                                          std::uint64_t seed) {
  std::vector<std::vector<float>> all;
  for (std::size_t size : sizes) all.push_back(drawn(size, seed + size));
  return all;
}

Twins opened(const OpenDevice& open, const std::string& spec, const std::vector<std::size_t>& sizes,
             std::uint64_t seed = 1) {
  const TwinDevice device = open(seed);
  return Twins(device.device, device.make, spec, sizes);
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// Of damaged payloads of the first tensor.
void expect_refusals(Twins& twins) {
  const std::vector<std::byte> payload = twins.payload(0);
  SplitMix64 random(5);
  int refusals = 0;
  for (int i = 0; i < 400; ++i) {
    std::vector<std::byte> damaged = payload;
    for (std::uint64_t flips = 1 + random.below(3); flips > 0; --flips) {
      // The first bytes, which say what the others are, more often.
      const std::size_t within = random.below(2) == 0 ? 4 : damaged.size();
      damaged[random.below(within)] ^= static_cast<std::byte>(1U << random.below(8));
    }
    if (random.below(4) == 0) damaged.resize(random.below(damaged.size() + 1));
    SCOPED_TRACE("damage " + std::to_string(i));
    refusals += twins.refuses(damaged) ? 1 : 0;
  }
  EXPECT_GT(refusals, 50);
}

void expect_damage_refused(const OpenDevice& open, const std::string& spec, std::size_t elements) {
  SCOPED_TRACE(spec);
  Twins twins = opened(open, spec, {elements});
  twins.step({drawn(elements, 1)});
  expect_refusals(twins);
}

}  // namespace

std::vector<std::string> twin_specs() {
  return {"threshold:tau=0.01",
          "threshold:tau=0",
          "threshold:tau=0.01,memory=none",
          "threshold:tau=0.02,decay=0.75",
          "topk:ratio=0.01",
          "topk:ratio=0.3",
          "topk:ratio=1",
          "topk:ratio=0.001,memory=momentum",
          "topk:ratio=0.02,memory=momentum,nesterov=true,masking=false",
          "topk:ratio=0.01,memory=none",
          "sidco:ratio=0.01",
          "sidco:ratio=0.5",
          "sidco:ratio=0.01,memory=none",
          "sidco:ratio=0.001,stages=2",
          "sidco:ratio=0.001,stages=3",
          "sidco:ratio=0.001,stages=6",
          "sidco:ratio=0.01,q=1,adapt=climb,memory=momentum",
          "sidco:ratio=0.001,stages=3,location=min",
          "sidco:ratio=0.01,q=1,location=min",
          "sidco:ratio=0.001,dist=gpareto,stages=4,location=min",
          "sidco:ratio=0.001,dist=gamma,stages=2,location=min,memory=none",
          "sidco:ratio=0.01,dist=gpareto",
          "sidco:ratio=0.001,dist=gpareto,stages=3",
          "sidco:ratio=0.01,dist=gamma,memory=none",
          "sidco:ratio=0.001,dist=gamma,stages=4",
          "redsync:ratio=0.01",
          "redsync:ratio=0.1,memory=none",
          "redsync:ratio=0.001",
          "redsync:ratio=0.01,variant=trim",
          "redsync:ratio=0.3,variant=trim,memory=none",
          "gaussiank:ratio=0.01",
          "gaussiank:ratio=0.4,memory=none",
          "gaussiank:ratio=0.01,variant=oktopk",
          "variance",
          "variance:alpha=2,memory=residual,values=fp32,positions=raw32",
          "hybrid:tau=0.02",
          "hybrid:tau=0.01,memory=none,positions=bitmap",
          "topk:ratio=0.1,values=exp4",
          "sbc:p=0.05,values=exp4,positions=run16",
          "sidco:ratio=0.01,stages=3,values=exp4,positions=golomb",
          "sbc:p=0.02,sample=0.05,clip=0.5,delay=2",
          "sbc:p=0.01",
          "sbc:p=0.2,memory=none,values=fp32,positions=raw32",
          "sbc:p=0.01,sample=0.1",
          "sbc:p=1,memory=momentum",
          "mstopk:ratio=0.01",
          "mstopk:ratio=0.3,rounds=50,memory=none",
          "mstopk:ratio=0.05,rounds=4",
          "gradientdropping:ratio=0.05",
          "gradientdropping:ratio=0.05,sample=0.1",
          "dgc:ratio=0.01,positions=raw32",
          "dgc:ratio=0.1,positions=raw32,sampling=strided,memory=residual",
          "dgc:ratio=0.02,positions=raw32,sampling=lines,sample=0.05",
          "dgc:ratio=0.001,positions=raw32,memory=none",
          "dgc:ratio=0.01",
          "strom",
          "strom:tau=0.02,memory=none,values=fp32",
          "randomk",
          "randomk:ratio=0.7,positions=bitmap,memory=momentum",
          "randomk:ratio=0.2,scale=true,memory=none",
          "topk:ratio=0.02,values=fp16,positions=index28",
          "topk:ratio=0.3,values=bf16,positions=bitmap",
          "topk:ratio=0.0005,values=mean,positions=run16",
          "topk:ratio=0.01,values=sign,positions=golomb",
          "topk:ratio=0.9,values=int8,positions=golomb",
          "topk:ratio=0.01,values=int2,positions=packed",
          "topk:ratio=0.9,values=int2,positions=elias_gamma",
          "topk:ratio=0.3,values=int2,memory=none,positions=elias_delta",
          "sidco:ratio=0.001,positions=packed",
          "topk:ratio=1,positions=packed,memory=ef21",
          "topk:ratio=0.0005,positions=elias_gamma",
          "threshold:tau=0.01,positions=elias_delta",
          "topk:ratio=0.0001,values=int8,positions=golomb,memory=none",
          "none",
          "fp16",
          "fp16:memory=residual",
          "bf16:memory=momentum",
          "int8",
          "int8:memory=residual,decay=0.5",
          "signsgd:scale=0.01",
          "signsgd:scale=0.01,memory=residual",
          "3lc",
          "3lc:s=1.75",
          "3lc:zre=false",
          "3lc:s=1.9,memory=none",
          "3lc:bucket=50,s=1.5",
          "3lc:bucket=64,s=1.9,memory=ef21",
          "3lc:bucket=4096",
          "3lc:bucket=333,zre=false",
          "3lc:bucket=1,memory=none",
          "3lc:bucket=7,s=1.9",
          "3lc:bucket=31,zre=false",
          "stoch3",
          "stoch3:memory=residual",
          "natural",
          "natural:memory=residual",
          "int8:bucket=64,memory=residual",
          "int8:bucket=777",
          "int8:bucket=1",
          "int8:bucket=31,memory=residual",
          "efsignsgd",
          "efsignsgd:memory=none",
          "efsignsgd:bucket=100",
          "efsignsgd:bucket=4096",
          "efsignsgd:bucket=9",
          "mqe1bit",
          "mqe1bit:bucket=3000",
          "mqe1bit:bucket=33,memory=none",
          "mqe1bit:bucket=2",
          "onebit",
          "onebit:memory=momentum",
          "terngrad",
          "terngrad:sigma=0,memory=residual",
          "terngrad:sigma=1,shared=false,bucket=1000",
          "terngrad:sigma=0,shared=false,bucket=50,memory=residual",
          "terngrad:sigma=1,shared=false,bucket=17,memory=residual",
          "qsgd",
          "qsgd:bits=8,bucket=0,memory=residual",
          "qsgd:bits=5,bucket=333,memory=residual",
          "qsgd:bits=2,bucket=0",
          "qsgd:bits=3,bucket=5,memory=residual",
          "topk:ratio=0.02,memory=clear",
          "topk:ratio=0.02,values=mean,memory=clear",
          "topk:ratio=0.02,values=fp16,memory=ef21",
          "topk:ratio=0.02,values=int8,memory=none,delay=2,clip=0.5",
          "randomk:ratio=0.05,memory=ef21,clip=0.5",
          "sbc:p=0.01,memory=residual,delay=2,clip=0.5",
          "topk:ratio=0.02,clip=0.5,workers=4",
          "topk:ratio=0.02,memory=none,clip=0.5",
          "topk:ratio=0.02,delay=3,decay=0.5",
          "topk:ratio=0.02,memory=none,delay=2",
          "topk:ratio=0.02,memory=momentum,delay=2,clip=1",
          "ef21",
          "ef21:delay=2,clip=0.5",
          "sidco:ratio=0.01,memory=ef21",
          "dgc:ratio=0.01,positions=raw32,clip=0.25,memory=none",
          "fedavg:delay=2",
          "fedavg:delay=2,memory=momentum,nesterov=true",
          "fedavg:delay=1,memory=ef21",
          "int8:memory=ef21",
          "int8:memory=clear,decay=0.5,delay=2,clip=0.5",
          "3lc:memory=ef21,delay=2",
          "natural:memory=none,clip=0.5",
          "qsgd:memory=ef21",
          "efsignsgd:memory=ef21,clip=0.25",
          "onebit:delay=3",
          "terngrad:memory=none,delay=2",
          "thc:memory=ef21",
          "sdp4bit:memory=ef21,clip=0.5,delay=2",
          "blockint8",
          "blockint8:scale=f16,block=64,memory=residual",
          "blockint8:scale=e8m0,rounding=stochastic",
          "blockint4:memory=residual,decay=0.5",
          "blockint4:block=2048,rounding=stochastic,memory=residual",
          "qgz:memory=momentum",
          "sdp4bit",
          "sdp4bit:memory=residual,scale=f16",
          "sdp4bit:block=32,rounding=stochastic,memory=residual",
          "fp8",
          "fp8:format=e5m2,memory=residual",
          "fp8:scale=e8m0,block=32,rounding=stochastic,memory=residual",
          "fp8:format=e5m2,hadamard=true,block=1024,rounding=stochastic,scale=f16",
          "mxfp4",
          "mxfp4:memory=residual,rounding=stochastic",
          "mxfp4:hadamard=true,block=512,memory=residual",
          "thc",
          "thc:bits=8,block=64,memory=none",
          "thc:range=0.5,block=32",
          "thc:memory=momentum"};
}

std::vector<float> drawn(std::size_t n, std::uint64_t seed) {
  SplitMix64 random(seed);
  const auto uniform = [&] { return static_cast<float>(random.next() >> 40) * 0x1p-24F - 0.5F; };
  std::vector<float> values(n);
  for (float& value : values) value = uniform() * uniform() * uniform();
  return values;
}

void expect_same_bytes(const OpenDevice& open, const std::string& spec) {
  Twins twins = opened(open, spec, kSizes);
  for (std::uint64_t step = 0; step < 6; ++step) twins.step(gradients(kSizes, 100 * step));
  std::size_t sent = 0;
  for (std::size_t i = 0; i < kSizes.size(); ++i) sent += twins.sent(i);
  EXPECT_GT(sent, 0U);
  // Whatever the order in which a device's threads come.
  const std::vector<std::size_t> sizes = {40000};
  for (std::uint64_t seed : {2, 3, 4}) {
    Twins others = opened(open, spec, sizes, seed);
    for (std::uint64_t step = 0; step < 2; ++step) others.step(gradients(sizes, step));
  }
}

void expect_same_bytes_of_special_values(const OpenDevice& open, const std::string& spec) {
  constexpr std::size_t kElements = 9000;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kDenormal = std::numeric_limits<float>::denorm_min();
  constexpr float kMost = std::numeric_limits<float>::max();
  std::vector<std::vector<float>> special(9, std::vector<float>(kElements, 0.0F));
  special[1].assign(kElements, -0.25F);  // all tie
  special[2].assign(kElements, -0.0F);
  special[3] = drawn(kElements, 3);
  special[3][17] = kInfinity;
  special[3][kElements - 1] = -kInfinity;
  special[4] = drawn(kElements, 4);
  special[4][5000] = kNan;
  special[5].assign(kElements, kNan);
  for (std::size_t i = 0; i < kElements; ++i) {
    special[6][i] = i % 3 == 0 ? kDenormal : -2 * kDenormal;
    special[7][i] = i % 2 == 0 ? kMost : -kMost;
    special[8][i] = i % 100 == 0 ? 1.0F : 0.0F;
  }
  Twins twins = opened(open, spec, std::vector<std::size_t>(special.size(), kElements));
  for (int step = 0; step < 3; ++step) twins.step(special);
}

void expect_same_states(const OpenDevice& open, const std::string& spec) {
  const std::vector<std::size_t> sizes = {9000};
  Twins before = opened(open, spec, sizes);
  for (std::uint64_t step = 0; step < 7; ++step) before.step(gradients(sizes, step));
  std::vector<std::byte> state;
  before.here(0).save_state(state);
  Twins after = opened(open, spec, sizes);
  after.here(0).load_state(state);
  after.there().load_state(0, state);
  for (std::uint64_t step = 0; step < 7; ++step) after.step(gradients(sizes, 50 + step));
  after.there().reset();
  after.here(0).reset();
  after.step(gradients(sizes, 99));
  state.pop_back();
  EXPECT_THROW(after.there().load_state(0, state), InputError);
}

void expect_same_bytes_of_matrices(const OpenDevice& open) {
  // Of one column, one row, fewer and more columns than a tile, fewer and more rows than a group.
  const std::vector<std::vector<std::int64_t>> shapes = {
      {64, 100}, {1, 50}, {130, 3}, {3, 2, 5}, {100},  {200, 333},
      {0, 7},    {65, 1}, {2, 600}, {63, 256}, {5000}, {129, 4, 8, 8}};
  for (const char* spec : {"onebit", "onebit:memory=none", "mqe1bit:columns=true,decay=0.5"}) {
    SCOPED_TRACE(spec);
    const TwinDevice device = open(1);
    Twins twins(device.device, device.make, spec, shapes);
    for (std::uint64_t step = 0; step < 4; ++step) {
      std::vector<std::vector<float>> all;
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        std::size_t size = 1;
        for (std::int64_t side : shapes[i]) size *= static_cast<std::size_t>(side);
        all.push_back(drawn(size, 100 * step + i));
        if (step == 3 && size > 20) all.back()[17] = std::numeric_limits<float>::infinity();
      }
      twins.step(all);
    }
  }
  const TwinDevice device = open(1);
  Twins twins(device.device, device.make, "onebit",
              std::vector<std::vector<std::int64_t>>{{7, 43}});
  twins.step({drawn(301, 1)});
  expect_refusals(twins);
}

void expect_malformed_payloads_refused(const OpenDevice& open) {
  Twins twins = opened(open, "topk:ratio=0.1", {300});
  EXPECT_FALSE(twins.refuses(bytes_of({0})));
  EXPECT_FALSE(twins.refuses(bytes_of({1, 0, 0, 128, 63, 199, 0, 0, 0})));
  EXPECT_TRUE(twins.refuses({}));
  EXPECT_TRUE(twins.refuses(bytes_of({0, 0})));                           // too long
  EXPECT_TRUE(twins.refuses(bytes_of({1, 0, 0, 128, 63, 199, 0, 0})));    // too short
  EXPECT_TRUE(twins.refuses(bytes_of({1, 0, 0, 128, 63, 44, 1, 0, 0})));  // 300
  EXPECT_TRUE(twins.refuses(bytes_of({0x80, 0})));                        // not shortest
  EXPECT_TRUE(twins.refuses(bytes_of({0x80})));                           // no end
  EXPECT_TRUE(twins.refuses(bytes_of({0xff, 0xff, 0xff, 0xff, 0xff})));   // too many
  EXPECT_TRUE(twins.refuses(bytes_of({2, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0})));
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
                           "topk:ratio=0.1,positions=elias_delta"})
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
                           "thc:bits=8,block=256"})
    expect_damage_refused(open, spec, 301);
  expect_damage_refused(open, "3lc:s=1.9", 50001);
  expect_damage_refused(open, "3lc:s=1.9,bucket=100", 50001);
  expect_damage_refused(open, "3lc:s=1.9,bucket=101", 50001);
  expect_damage_refused(open, "3lc:zre=false,bucket=33", 301);
  expect_damage_refused(open, "3lc:s=1.9,bucket=7", 5001);
  expect_damage_refused(open, "3lc:zre=false,bucket=1", 301);
  expect_damage_refused(open, "qsgd:bits=3,bucket=5", 301);
}

}  // namespace thinpipe::cuda
