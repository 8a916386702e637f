// Collectives that change sums during the exchange: select elements again, or quantise arrays.
#include <atomic>
#include <memory>
#include <utility>

#include "tests/cuda/replay/device_replay.h"
#include "tests/cuda/simulated/simulated_device.h"

namespace thinpipe {
namespace {

/// Bytes copied to the host: by asynchronous copies, and by copies that the host waits for. Copies
/// within compressors (of their reports) do not count.
struct BytesDown {
  std::atomic<std::size_t> beside = 0, waited_for = 0;
};

class CountingMemory : public DeviceMemory {
 public:
  CountingMemory(std::shared_ptr<DeviceMemory> memory, std::shared_ptr<BytesDown> down)
      : memory_(std::move(memory)), down_(std::move(down)) {}

  void* allocate(std::size_t bytes) override { return memory_->allocate(bytes); }
  void* allocate_host(std::size_t bytes) override { return memory_->allocate_host(bytes); }
  std::size_t free_bytes() override { return memory_->free_bytes(); }
  void upload(void* to, const void* from, std::size_t bytes) override {
    memory_->upload(to, from, bytes);
  }
  void download(void* to, const void* from, std::size_t bytes) override {
    down_->waited_for += bytes;
    memory_->download(to, from, bytes);
  }
  void copy(void* to, const void* from, std::size_t bytes) override {
    memory_->copy(to, from, bytes);
  }
  void zero(void* at, std::size_t bytes) override { memory_->zero(at, bytes); }
  void wait() override { memory_->wait(); }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  std::shared_ptr<BytesDown> down_;
};

class CountingCopies : public DeviceCopies {
 public:
  CountingCopies(std::shared_ptr<DeviceCopies> copies, std::shared_ptr<BytesDown> down)
      : copies_(std::move(copies)), down_(std::move(down)) {}

  void use_in_this_thread() override { copies_->use_in_this_thread(); }
  std::size_t begin_downloads(std::span<const DeviceCopy> copies) override {
    for (const DeviceCopy& copy : copies) down_->beside += copy.bytes;
    return copies_->begin_downloads(copies);
  }
  std::size_t begin_upload(const DeviceCopy& copy) override { return copies_->begin_upload(copy); }
  void join(std::size_t number) override { copies_->join(number); }
  bool ended(std::size_t number) override { return copies_->ended(number); }
  double take(std::size_t number) override { return copies_->take(number); }

 private:
  std::shared_ptr<DeviceCopies> copies_;
  std::shared_ptr<BytesDown> down_;
};

RankDevice counting(RankDevice device, const std::shared_ptr<BytesDown>& down) {
  device.memory = std::make_shared<CountingMemory>(device.memory, down);
  device.copies = std::make_shared<CountingCopies>(device.copies, down);
  return device;
}

TEST_F(DeviceReplayTest, ElementsThatAreSelectedAgainOnTheirWay) {
  for (const char* collective : {"gtopk", "gtopk:putback=sender", "oktopk:thresholds=2,regions=2"})
    for (const char* spec :
         {"topk:ratio=0.01", "dgc:ratio=0.01", "sidco:ratio=0.01", "ef21:ratio=0.01",
          "topk:ratio=0.01,memory=none", "topk:ratio=0.01,memory=clear,delay=2",
          "topk:ratio=0.02,memory=momentum,clip=0.5", "topk:ratio=0.01,values=exp4",
          "threshold:tau=0.001,positions=golomb", "variance",
          "tensor-3:none;tensor-0:threshold:tau=0.001;*:topk:ratio=0.1"})
      for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing(), local_bucketing()}) {
        // Second moments are those of a single step.
        if (bucketing.local_steps > 1 && std::string(spec) == "variance") continue;
        // Dropped elements are restored before a checkpoint, otherwise in the next step.
        saves_each_step_ = bucketing.overlap == Overlap::kBucket && bucketing.local_steps == 1;
        expect_same(options_of(spec, bucketing), 3, collective, bucketing.local_steps == 1 ? 3 : 4);
      }
}

TEST_F(DeviceReplayTest, TheFirstQuantisationOfACollectiveRunsOnTheGpu) {
  for (const char* collective :
       {"qgz", "qgz:group=4,gather=int4", "qgz:group=1,block=32,gather=fp32"})
    for (const char* spec : {"none", "fedavg:delay=2"})
      for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing(), local_bucketing()})
        expect_same(options_of(spec, bucketing), 4, collective);
}

// A float takes a code of 4 bits, and 256 floats a scale of 4 bytes: 1/2 + 1/64 bytes per float.
TEST_F(DeviceReplayTest, FloatsStayOnTheGpuInUncheckedSteps) {
  ReplayOptions options;
  for (const Bucketing& bucketing : {Bucketing{}, bucketed_bucketing()}) {
    SCOPED_TRACE(bucketing.to_string());
    options.bucketing = bucketing;
    std::vector<std::shared_ptr<BytesDown>> down;
    for (int rank = 0; rank < 2; ++rank) down.push_back(std::make_shared<BytesDown>());
    make_device_ = [&](int rank) { return counting(cuda::simulated_rank_device(1), down[rank]); };
    const std::size_t floats = Trace(folder_ / "trace").elements();
    constexpr std::uint64_t kSteps = 3;
    checks_ = false;
    run(options, true, 2, kSteps, "qgz");
    for (const auto& one : down) {
      EXPECT_EQ(one->waited_for, 0U);
      EXPECT_GT(one->beside, kSteps * floats / 2);
      EXPECT_LT(one->beside, kSteps * floats * 9 / 16);
    }
    // For checks, the aggregates are downloaded, and the floats from which the codes were made.
    checks_ = true;
    run(options, true, 2, kSteps, "qgz");
    for (const auto& one : down) EXPECT_EQ(one->waited_for, kSteps * 2 * floats * sizeof(float));
  }
}

}  // namespace
}  // namespace thinpipe
