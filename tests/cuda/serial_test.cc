// GPU compressors on a simulated GPU: payloads and memories are those of the CPU implementation.
// Also steps that are captured once as a graph and then repeated, and the simulated GPU's clock.
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>

#include "base/splitmix64.h"
#include "compressors/cuda/grid/serial_device.h"
#include "compressors/cuda/make.h"
#include "tests/cuda/side_by_side.h"

namespace thinpipe::cuda {
namespace {

TestDevice serial(std::uint64_t seed) {
  const auto device = std::make_shared<SerialDevice>(seed);
  return {.device = device, .make = maker_on(device)};
}

class Serial : public ::testing::TestWithParam<std::string> {};

TEST_P(Serial, SendsAndKeepsTheSame) { expect_same_bytes(serial, GetParam()); }
TEST_P(Serial, WhateverTheValues) { expect_same_bytes_of_special_values(serial, GetParam()); }
TEST_P(Serial, GoesOnFromAStateOfTheOther) { expect_same_states(serial, GetParam()); }

INSTANTIATE_TEST_SUITE_P(SideBySide, Serial, ::testing::ValuesIn(gpu_specs()));

TEST(OnSerialDevice, SendTheSameOfMatrices) { expect_same_bytes_of_matrices(serial); }
TEST(OnSerialDevice, SendTheSameInRounds) { expect_same_bytes_in_rounds(serial); }
TEST(OnSerialDevice, RefuseMalformedPayloads) { expect_malformed_payloads_refused(serial); }

TEST(OnSerialDevice, AddUpMoreBlocksThanPartsOfASum) {
  const std::vector<std::size_t> sizes = {2'300'001};
  for (const char* spec : {"efsignsgd", "mqe1bit", "terngrad", "qsgd:bucket=0,clip=0.5"}) {
    SCOPED_TRACE(spec);
    SideBySide both(serial(1), spec, sizes);
    std::vector<float> values = drawn(sizes[0], 1);
    both.step({values});
    values[sizes[0] / 2] = std::numeric_limits<float>::infinity();
    both.step({values});
  }
}

TEST(OnSerialDevice, AMisleadingSampleCostsAnotherChoice) {
  // Only the sampled positions have large values, so that the sample overestimates the k-th value.
  const std::size_t n = 20000;
  std::vector<float> values = drawn(n, 7);
  SplitMix64 random(SplitMix64::mix(n ^ SplitMix64::mix(0)));
  for (std::size_t i = 0; i < n / 64; ++i) values[random.below(n)] = 100.0F + static_cast<float>(i);
  for (const char* spec : {"topk:ratio=0.1", "sbc:p=0.1"}) {
    SideBySide both(serial(1), spec, std::vector<std::size_t>{n, n});
    for (int step = 0; step < 2; ++step) both.step({drawn(n, 8), values});
    EXPECT_EQ(both.sent(1), 2000U) << spec;
  }
}

TEST(OnSerialDevice, AThresholdThatTooFewExceedIsLowered) {
  // The values that DGC samples are 1; a ninth of the others are between 0.8 and 0.9.
  const std::size_t n = 20000;
  SplitMix64 random(3);
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(random.next() >> 40) * 0x1p-24F * 0.9F;
  SplitMix64 sampled(
      SplitMix64::mix((CompressorSettings{}.seed ^ hash_name("tensor0")) ^ SplitMix64::mix(0)));
  for (std::size_t i = 0; i < n / 100; ++i) values[sampled.below(n)] = 1;
  for (const char* spec : {"dgc:ratio=0.1,positions=raw32,memory=residual",  // once
                           "dgc:ratio=0.6,positions=raw32,memory=none"}) {   // often
    SideBySide both(serial(1), spec, std::vector<std::size_t>{n, n});
    const std::vector<float> others = drawn(n, 5);
    for (int step = 0; step < 3; ++step) both.step({values, others});
    EXPECT_GT(both.sent(0), n / 20) << spec;
  }
}

TEST(OnSerialDevice, RefuseWhatHasNoGpuImplementation) {
  const std::vector<TensorInfo> tensors = {{.name = "t", .shape = {8}, .elements = 8}};
  const TestDevice device = serial(1);
  for (const char* spec : {"randomk:values=exp4", "randomk:scale=true", "variance:delay=2"})
    EXPECT_THROW(device.make(parse_spec(spec), tensors, {}), InputError) << spec;
  EXPECT_THROW(device.make(parse_spec("topk:rato=1"), tensors, {}), InputError);
}

TEST(Repeated, TheThirdTimeIsTheFirstRepeatedOne) {
  SerialDevice device;
  Repeated<SerialDevice> repeated;
  int from = 0, to = 0;
  const auto run = [&](std::uint64_t kind) {
    repeated.run(device, kind, [&] { device.copy(&to, &from, sizeof to); });
  };
  // Runs directly, then is captured and launched, then is launched from the graph.
  for (const std::size_t repeats : {0U, 1U, 2U, 3U}) {
    ++from;
    run(7);
    device.wait();
    EXPECT_EQ(to, from);
    EXPECT_EQ(device.repeats(), repeats);
  }
  run(8);
  EXPECT_EQ(device.repeats(), 3U) << "another kind begins anew";
  run(7);
  EXPECT_EQ(device.repeats(), 4U) << "and the first graph still exists";
}

TEST(Repeated, TooManyKindsRunDirectly) {
  SerialDevice device;
  Repeated<SerialDevice> repeated;
  int done = 0, one = 1;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t kind = 0; kind < 100; ++kind) {
      done = 0;
      repeated.run(device, kind, [&] { device.copy(&done, &one, sizeof done); });
      device.wait();
      EXPECT_EQ(done, 1);
    }
  }
  EXPECT_GT(device.repeats(), 0U);
  EXPECT_LT(device.repeats(), 100U);
}

TEST(Repeated, OtherWorkOfTheSameKindIsABug) {
  SerialDevice device;
  Repeated<SerialDevice> repeated;
  char memory[2] = {};
  std::size_t bytes = 1;
  const auto run = [&] { repeated.run(device, 1, [&] { device.zero(memory, bytes); }); };
  run();
  run();
  bytes = 2;
  EXPECT_THROW(run(), std::logic_error);
}

TEST(Repeated, StepsOfEveryCompressorAreRepeated) {
  for (const std::string& spec : gpu_specs()) {
    const auto device = std::make_shared<SerialDevice>();
    const std::vector<std::size_t> sizes = {3000, 10};
    SideBySide both({device, maker_on(device)}, spec, sizes);
    for (std::uint64_t step = 0; step < 12; ++step)
      both.step({drawn(sizes[0], step), drawn(sizes[1], step)});
    // All exchanges but the first are repeated. SIDCo's stages change between the first steps.
    const bool waits = spec.find("delay=") != std::string::npos;
    EXPECT_GE(device->repeats(), spec.starts_with("sidco") ? 1U : waits ? 3U : 10U) << spec;
  }
}

TEST(SerialClock, MarksMoveWhenTheyAreSetAgain) {
  SerialDevice device;
  device.mark(0);
  device.mark_waits(1);
  device.wait();
  const double first = device.seconds(0, 1);
  EXPECT_GE(first, 0);
  device.wait();
  EXPECT_GT(device.seconds(0, 1), first);
  const double second = device.seconds(0, 1);
  device.mark_waits(std::nullopt);
  device.wait();
  EXPECT_EQ(device.seconds(0, 1), second);
}

}  // namespace
}  // namespace thinpipe::cuda
