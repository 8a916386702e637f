// Compressors on a GPU: payloads and memories are those of the CPU implementation. The program also
// has the tests of replays.
#include <gtest/gtest.h>

#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>

#include "compressors/cuda/gpu.h"
#include "compressors/cuda/kernels/batch.h"
#include "tests/cuda/side_by_side.h"

namespace thinpipe::cuda {
namespace {

TestDevice gpu(std::uint64_t /*seed*/) {
  const std::shared_ptr<DeviceMemory> device = open_gpu();
  return {.device = device, .make = std::bind_front(make_gpu_compressor, device)};
}

constexpr int kSkipped = 77;  // exit code, as for ctest and tests/gpu/campaign

// Ends the program without a GPU. GTEST_SKIP() here would count every test as passed.
class NeedsGpu : public ::testing::Environment {
 public:
  void SetUp() override {
    const GpuStatus status = probe_gpu();
    if (status.available) return;
    std::printf("no GPU to test on: %s\n", status.detail.c_str());
    std::exit(kSkipped);
  }
};
const ::testing::Environment* const needs_gpu = ::testing::AddGlobalTestEnvironment(new NeedsGpu);

class Gpu : public ::testing::TestWithParam<std::string> {};

TEST_P(Gpu, SendsAndKeepsTheSame) { expect_same_bytes(gpu, GetParam()); }
TEST_P(Gpu, WhateverTheValues) { expect_same_bytes_of_special_values(gpu, GetParam()); }
TEST_P(Gpu, GoesOnFromAStateOfTheOther) { expect_same_states(gpu, GetParam()); }

INSTANTIATE_TEST_SUITE_P(SideBySide, Gpu, ::testing::ValuesIn(gpu_specs()));

class GpuPayloads : public Gpu {};
TEST_P(GpuPayloads, AreTheSameOfMatrices) { expect_same_bytes_of_matrices(gpu); }
TEST_P(GpuPayloads, AreTheSameInRounds) { expect_same_bytes_in_rounds(gpu); }
TEST_P(GpuPayloads, MalformedOnesAreRefused) { expect_malformed_payloads_refused(gpu); }
INSTANTIATE_TEST_SUITE_P(SideBySide, GpuPayloads, ::testing::Values("topk"));

// The device on which compressors are timed (harness/bench/device_measure.h).
class GpuClock : public Gpu {};
TEST_P(GpuClock, ReadsAreWholeAndTimesAreWithinTheHosts) {
  const TimedDevice device = open_timed_gpu();
  EXPECT_GT(device.description.l2_bytes, 0U);
  for (const std::size_t n : {1UL, 1025UL, 70'001UL, 26'000'000UL}) {
    const std::vector<float> values = drawn(n, n);
    std::uint32_t expected = 0;
    for (const float value : values) expected += std::bit_cast<std::uint32_t>(value);
    auto* const to = static_cast<float*>(device.memory->allocate(n * sizeof(float)));
    device.roofline->copy(uploaded(*device.memory, values), n, to);
    for (const int streams : DeviceRoofline::kStreamCounts) {
      constexpr int kReads = 20;
      device.clock->wait_for_all();
      const auto begin = std::chrono::steady_clock::now();
      device.clock->mark(0);
      for (int i = 0; i < kReads; ++i) device.roofline->read(to, n, streams);
      device.clock->mark(1);
      device.clock->wait_for_all();
      const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
      EXPECT_GT(device.clock->seconds(0, 1), 0);
      EXPECT_LE(device.clock->seconds(0, 1), wall.count());
      EXPECT_EQ(device.roofline->take_sum(), kReads * expected) << n << " " << streams;
    }
  }
}
INSTANTIATE_TEST_SUITE_P(SideBySide, GpuClock, ::testing::Values("topk"));

// Tensors larger than what all thread blocks process at a time, and than caches.
class GpuLarge : public Gpu {};
TEST_P(GpuLarge, SendsAndKeepsTheSame) {
  const std::vector<std::size_t> sizes = {26'000'000, 2'600'001, 269'467};
  SideBySide both(gpu(1), GetParam(), sizes);
  for (std::uint64_t step = 0; step < 2; ++step) both.step(drawn(sizes, step));
}
INSTANTIATE_TEST_SUITE_P(SideBySide, GpuLarge,
                         ::testing::Values("topk:ratio=0.1", "topk:ratio=0.001", "sidco:ratio=0.01",
                                           "sidco:ratio=0.001,stages=4", "threshold:tau=0.05",
                                           "dgc:ratio=0.01", "sbc:p=0.01", "randomk:ratio=0.01",
                                           "mstopk", "gaussiank", "sidco:ratio=0.01,dist=gamma",
                                           "int8", "3lc:s=1.75", "stoch3", "3lc:s=1.75,bucket=512",
                                           "qsgd", "qsgd:bucket=0", "terngrad", "efsignsgd",
                                           "mqe1bit", "natural", "sdp4bit", "mxfp4", "thc",
                                           "topk:ratio=0.01,memory=ef21,clip=1"));

}  // namespace
}  // namespace thinpipe::cuda
