// gpu.cu on the simulated CUDA runtime: object lifetimes, graphs, errors, and order of streams.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "compressors/cuda/gpu.h"
#include "tests/cuda/side_by_side.h"
#include "tests/cuda_runtime/simulated.h"

namespace thinpipe::cuda {
namespace {

SideBySide side_by_side_on(const std::shared_ptr<DeviceMemory>& gpu) {
  return {TestDevice{gpu, std::bind_front(make_gpu_compressor, gpu)}, "topk:ratio=0.01",
          std::vector<std::size_t>{5000, 10}};
}
void take_steps(SideBySide& both, int count) {
  for (int step = 0; step < count; ++step)
    both.step({drawn(5000, static_cast<std::uint64_t>(step)), drawn(10, 3)});
}

TEST(RuntimeTest, NothingIsLeftBehind) {
  const simulated::Alive before = simulated::alive();
  {
    const RankDevice device = open_rank_gpu(1);
    const RankDevice beside = device.beside();
    SideBySide both = side_by_side_on(device.memory);
    take_steps(both, 4);
    EXPECT_NE(simulated::alive(), before);
  }
  EXPECT_EQ(simulated::alive(), before);
}

TEST(RuntimeTest, StepsAreGraphsFromTheSecondOn) {
  SideBySide both = side_by_side_on(open_gpu());
  const std::size_t before = simulated::graph_launches();
  take_steps(both, 5);
  EXPECT_GE(simulated::graph_launches() - before, 4U);
}

TEST(RuntimeTest, WithoutGraphsStepsAreTheSame) {
  const std::size_t before = simulated::graph_launches();
  {
    SideBySide both = side_by_side_on(open_gpu());
    simulated::refuse_graphs(true);
    take_steps(both, 4);
    simulated::refuse_graphs(false);
  }
  setenv("THINPIPE_CUDA_GRAPHS", "0", 1);
  SideBySide both = side_by_side_on(open_gpu());
  unsetenv("THINPIPE_CUDA_GRAPHS");
  take_steps(both, 4);
  EXPECT_EQ(simulated::graph_launches(), before);
}

TEST(RuntimeTest, OutOfMemoryIsReported) {
  const std::shared_ptr<DeviceMemory> gpu = open_gpu();
  try {
    gpu->allocate(std::size_t{1} << 40);
    FAIL() << "1 TiB was allocated";
  } catch (const RunError& error) {
    EXPECT_STREQ(error.what(), "CUDA: allocate 1099511627776 bytes: out of memory");
  }
  // Later calls must not report this error again.
  gpu->wait();
  SideBySide both = side_by_side_on(gpu);
  take_steps(both, 1);
}

TEST(RuntimeTest, CopiesAreOrderedByEvents) {
  const RankDevice device = open_rank_gpu(0);
  constexpr std::size_t kWords = 1000, kBytes = kWords * sizeof(float);
  auto* const device_words = static_cast<float*>(device.memory->allocate(kBytes));
  auto* const sent = static_cast<float*>(device.memory->allocate_host(kBytes));
  auto* const got = static_cast<float*>(device.memory->allocate_host(kBytes));
  device.memory->wait();
  std::iota(sent, sent + kWords, 1.0F);
  for (int round = 0; round < 20; ++round) {
    const std::size_t up = device.copies->begin_upload({device_words, sent, kBytes});
    device.copies->join(up);
    device.arithmetic->add(device_words, device_words, kWords);  // doubles the words
    const DeviceCopy down = {got, device_words, kBytes};
    const std::size_t number = device.copies->begin_downloads({&down, 1});
    EXPECT_GE(device.copies->take(up), 0);
    while (!device.copies->ended(number)) {
    }
    EXPECT_GE(device.copies->take(number), 0);
    for (std::size_t i = 0; i < kWords; ++i) ASSERT_EQ(got[i], 2 * sent[i]) << round;
    device.memory->zero(device_words, kBytes);
    device.memory->wait();
  }
}

}  // namespace
}  // namespace thinpipe::cuda
