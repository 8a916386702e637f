// The library for GPUs beside the runtime: what it makes, destroys, and does when it is refused.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <vector>

#include "base/error.h"
#include "compressors/cuda/gpu.h"
#include "tests/cuda/twins.h"
#include "tests/cuda_runtime/played.h"

namespace thinpipe::cuda {
namespace {

Twins twins_on(const std::shared_ptr<DeviceMemory>& gpu) {
  const Twins::Make make = [gpu](const Spec& spec, std::span<const TensorInfo> tensors) {
    return make_gpu_compressor(gpu, spec, tensors, {});
  };
  return {gpu, make, "topk:ratio=0.01", std::vector<std::size_t>{5000, 10}};
}
void take_steps(Twins& twins, int count) {
  for (int step = 0; step < count; ++step)
    twins.step({drawn(5000, static_cast<std::uint64_t>(step)), drawn(10, 3)});
}

TEST(RuntimeTest, NothingIsLeftBehind) {
  const played::Alive before = played::alive();
  {
    const RankDevice device = open_rank_gpu(1);
    const RankDevice beside = device.beside();
    Twins twins = twins_on(device.memory);
    take_steps(twins, 4);
    EXPECT_NE(played::alive(), before);
  }
  EXPECT_EQ(played::alive(), before);
}

TEST(RuntimeTest, StepsAreGraphsFromTheSecondOn) {
  Twins twins = twins_on(open_gpu());
  const std::size_t before = played::graph_launches();
  take_steps(twins, 5);
  EXPECT_GE(played::graph_launches() - before, 4U);
}

TEST(RuntimeTest, WithoutGraphsStepsAreTheSame) {
  const std::size_t before = played::graph_launches();
  {
    Twins twins = twins_on(open_gpu());
    played::refuse_graphs(true);
    take_steps(twins, 4);
    played::refuse_graphs(false);
  }
  setenv("THINPIPE_CUDA_GRAPHS", "0", 1);
  Twins twins = twins_on(open_gpu());
  unsetenv("THINPIPE_CUDA_GRAPHS");
  take_steps(twins, 4);
  EXPECT_EQ(played::graph_launches(), before);
}

TEST(RuntimeTest, MemoryThatThereIsNotIsSaid) {
  const std::shared_ptr<DeviceMemory> gpu = open_gpu();
  try {
    gpu->allocate(std::size_t{1} << 40);
    FAIL() << "that much was allocated";
  } catch (const RunError& error) {
    EXPECT_STREQ(error.what(), "CUDA: allocate 1099511627776 bytes: out of memory");
  }
  // Nothing is left of the error where the next thing is asked for.
  gpu->wait();
  Twins twins = twins_on(gpu);
  take_steps(twins, 1);
}

TEST(RuntimeTest, CopiesKeepToTheirStreams) {
  const RankDevice device = open_rank_gpu(0);
  constexpr std::size_t kWords = 1000, kBytes = kWords * sizeof(float);
  auto* const there = static_cast<float*>(device.memory->allocate(kBytes));
  auto* const sent = static_cast<float*>(device.memory->allocate_host(kBytes));
  auto* const got = static_cast<float*>(device.memory->allocate_host(kBytes));
  device.memory->wait();
  std::iota(sent, sent + kWords, 1.0F);
  for (int round = 0; round < 20; ++round) {
    const std::size_t up = device.copies->begin_upload({there, sent, kBytes});
    device.copies->join(up);
    device.arithmetic->add(there, there, kWords);  // twice what came
    const DeviceCopy down = {got, there, kBytes};
    const std::size_t number = device.copies->begin_downloads({&down, 1});
    EXPECT_GE(device.copies->take(up), 0);
    while (!device.copies->ended(number)) {
    }
    EXPECT_GE(device.copies->take(number), 0);
    for (std::size_t i = 0; i < kWords; ++i) ASSERT_EQ(got[i], 2 * sent[i]) << round;
    device.memory->zero(there, kBytes);
    device.memory->wait();
  }
}

}  // namespace
}  // namespace thinpipe::cuda
