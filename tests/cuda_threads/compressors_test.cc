// GPU compressors on CudaBlock, the block type of real GPUs, with simulated threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "compressors/cuda/make.h"
#include "tests/cuda/side_by_side.h"
#include "tests/cuda_threads/threads_device.h"

namespace thinpipe::cuda {
namespace {

TestDevice threads(std::uint64_t seed) {
  const auto device = std::make_shared<ThreadsDevice>(seed);
  return {.device = device, .make = maker_on(device)};
}

class Threads : public ::testing::TestWithParam<std::string> {};

TEST_P(Threads, SendAndKeepTheSame) {
  // Several tiles, and less than a warp.
  std::vector<std::size_t> sizes = {4097, 65, 0, 1};
#ifndef __SANITIZE_THREAD__  // with it, tests take eight times as long
  // Several blocks of sums, which take most of the time; serial_test.cc has them for every spec.
  const std::vector<std::string> specs = gpu_specs();
  if ((std::find(specs.begin(), specs.end(), GetParam()) - specs.begin()) % 4 == 0)
    sizes.push_back(33000);
#endif
  SideBySide both(threads(7), GetParam(), sizes);
  for (std::uint64_t step = 0; step < 3; ++step) {
    std::vector<std::vector<float>> gradients = drawn(sizes, 10 * step);
    if (step == 2) gradients[0][17] = std::numeric_limits<float>::infinity();
    both.step(gradients);
  }
}

INSTANTIATE_TEST_SUITE_P(SideBySide, Threads, ::testing::ValuesIn(gpu_specs()));

// Simulated threads are slow.
TEST(OnThreadsDevice, SendTheSameOfMatrices) { expect_same_bytes_of_matrices(threads, 2); }
TEST(OnThreadsDevice, SendTheSameInRounds) { expect_same_bytes_in_rounds(threads); }

}  // namespace
}  // namespace thinpipe::cuda
