// Downloads of payloads from a device.
#include "workloads/replay/device_gather.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "compressors/cuda/kernels/batch.h"
#include "tests/cuda/simulated/simulated_device.h"
#include "workloads/replay/message.h"

namespace thinpipe {
namespace {

// Copies of 256 KiB. The third one contains the end of the last payload and the start of the first.
TEST(DeviceGather, PayloadsAreDownloadedInTheRequestedOrder) {
  constexpr std::size_t kCopyBytes = 1 << 18;
  const std::vector<std::size_t> sizes = {300'000, 10, 600'000};
  const RankDevice device = cuda::simulated_rank_device(1);
  std::vector<std::vector<std::byte>> expected;
  std::vector<DevicePayload> payloads;
  for (const std::size_t size : sizes) {
    expected.emplace_back(size, std::byte(1 + expected.size()));
    payloads.push_back({cuda::uploaded(*device.memory, expected.back()), size});
  }
  DeviceGather gather(device, 0, 1, 1);
  const std::vector<std::size_t> order = {2, 0, 1};
  gather.begin(payloads, order);
  std::size_t asked = 0;
  for (std::size_t last = 0; gather.come(1) < sizes[1]; ++asked) {
    ASSERT_LT(asked, 100U);
    const std::size_t come = gather.come(2);
    EXPECT_GE(come, last);
    EXPECT_TRUE(come % kCopyBytes == 0 || come == 900'010) << come;
    last = come;
    if (come < sizes[2]) {
      EXPECT_EQ(gather.come(1), 0U);
    }
    // Bytes that come() reports have arrived: they were copied by its last call.
    std::vector<std::span<const std::byte>> split(3);
    split_message(gather.own(), split);
    const std::size_t whole = std::min(come, sizes[2]);
    EXPECT_EQ(std::memcmp(split[2].data(), expected[2].data(), whole), 0);
  }
  std::vector<std::span<const std::byte>> split(3);
  split_message(gather.own(), split);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    ASSERT_EQ(split[i].size(), sizes[i]);
    EXPECT_EQ(std::memcmp(split[i].data(), expected[i].data(), sizes[i]), 0);
  }
  EXPECT_GT(gather.finish().down, 0);
}

}  // namespace
}  // namespace thinpipe
