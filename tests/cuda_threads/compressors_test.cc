// Compressors for GPUs with the blocks that GPUs run, whose threads a processor plays.
#include <gtest/gtest.h>

#include <limits>

#include "compressors/cuda/make.h"
#include "tests/cuda/twins.h"
#include "tests/cuda_threads/threads_device.h"

namespace thinpipe::cuda {
namespace {

TwinDevice threads(std::uint64_t seed) {
  const auto device = std::make_shared<ThreadsDevice>(seed);
  return {.device = device,
          .make = [device](const Spec& spec, std::span<const TensorInfo> tensors) {
            return make_device_compressor(device, spec, tensors, {});
          }};
}

class Threads : public ::testing::TestWithParam<std::string> {};

TEST_P(Threads, SendAndKeepTheSame) {
  // Several tiles, and what is less than a warp.
  std::vector<std::size_t> sizes = {4097, 65, 0, 1};
#ifndef __SANITIZE_THREAD__  // which takes eight times as long
  sizes.push_back(33000);    // several blocks of sums
#endif
  Twins twins = opened(threads, GetParam(), sizes, 7);
  for (std::uint64_t step = 0; step < 3; ++step) {
    std::vector<std::vector<float>> gradients;
    for (const std::size_t size : sizes) gradients.push_back(drawn(size, 10 * step + size));
    if (step == 2) gradients[0][17] = std::numeric_limits<float>::infinity();
    twins.step(gradients);
  }
}

INSTANTIATE_TEST_SUITE_P(Twins, Threads, ::testing::ValuesIn(twin_specs()));

TEST(ThreadsTwins, SendTheSameOfMatrices) { expect_same_bytes_of_matrices(threads); }
TEST(ThreadsTwins, SendTheSameInRounds) { expect_same_bytes_in_rounds(threads); }

}  // namespace
}  // namespace thinpipe::cuda
