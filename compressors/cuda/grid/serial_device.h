// A processor that plays a GPU: its memory, and kernels that run when they are launched.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <typeindex>
#include <utility>
#include <vector>

#include "compressors/cuda/device_clock.h"
#include "compressors/cuda/device_memory.h"
#include "compressors/cuda/grid/serial_block.h"

namespace thinpipe::cuda {

/// Tests run compressors on it and on CudaDevice, which has the same functions.
class SerialDevice : public DeviceMemory, public DeviceClock {
 public:
  /// @param seed  of the order in which a block's threads take turns
  explicit SerialDevice(std::uint64_t seed = 1) : random_(seed) {}

  void* allocate(std::size_t bytes) override {
    memory_.emplace_back(bytes + 1);
    return memory_.back().data();
  }
  void* allocate_host(std::size_t bytes) override { return SerialDevice::allocate(bytes); }
  std::size_t free_bytes() override { return std::size_t{1} << 40; }
  void upload(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void download(void* to, const void* from, std::size_t bytes) override { copy(to, from, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override {
    ask(typeid(void), bytes, [to, from, bytes] {
      if (bytes > 0) std::memcpy(to, from, bytes);
    });
  }
  void zero(void* at, std::size_t bytes) override {
    ask(typeid(int), bytes, [at, bytes] {
      if (bytes > 0) std::memset(at, 0, bytes);
    });
  }
  /// Runs a kernel on so many blocks.
  template <class Kernel>
  void launch(const Kernel& kernel, std::size_t blocks) {
    ask(typeid(Kernel), blocks, [this, kernel, blocks] {
      const auto shared = std::make_unique<typename Kernel::Shared>();
      for (std::size_t i = 0; i < blocks; ++i) {
        // What a GPU's blocks find in shared memory is what others have left there.
        std::memset(static_cast<void*>(shared.get()), 0xa5, sizeof *shared);
        SerialBlock<Kernel::kThreads> block(static_cast<unsigned>(i), random_.next());
        kernel(block, *shared);
      }
    });
  }

  /// Something that was asked for: what, how much of it, and how it is done.
  struct Asked {
    std::type_index what;
    std::size_t size;
    std::function<void()> run;
  };
  using Recording = std::vector<Asked>;

  bool can_record() const { return true; }
  /// What `ask` asks for, which is not done.
  template <class Ask>
  std::optional<Recording> record(const Ask& ask) {
    Recording recording;
    recording_ = &recording;
    ask();
    recording_ = nullptr;
    return recording;
  }
  /// Does it, with the arguments that there were when it was recorded. @throws std::logic_error
  /// when `ask` would ask for something else now
  template <class Ask>
  void repeat(const Recording& recording, const Ask& ask) {
    const std::optional<Recording> now = record(ask);
    const auto same = [](const Asked& a, const Asked& b) {
      return a.what == b.what && a.size == b.size;
    };
    if (!std::equal(recording.begin(), recording.end(), now->begin(), now->end(), same))
      throw std::logic_error("other work than what was recorded");
    for (const Asked& asked : recording) asked.run();
    ++repeats_;
  }
  /// How often something recorded was done.
  std::size_t repeats() const { return repeats_; }

  void wait() override {
    if (mark_of_waits_) mark(*mark_of_waits_);
  }

  void mark(std::size_t number) override {
    if (marks_.size() <= number) marks_.resize(number + 1);
    marks_[number] = std::chrono::steady_clock::now();
  }
  void mark_waits(std::optional<std::size_t> number) override { mark_of_waits_ = number; }
  double seconds(std::size_t from, std::size_t to) override {
    return std::chrono::duration<double>(marks_.at(to) - marks_.at(from)).count();
  }
  void wait_for_all() override {}

 private:
  /// No stream is used by two threads at a time.
  class Turn {
   public:
    explicit Turn(std::atomic<bool>& busy) : busy_(busy) {
      if (busy_.exchange(true)) throw std::logic_error("a stream that another thread is using");
    }
    ~Turn() { busy_ = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::atomic<bool>& busy_;
  };

  template <class Run>
  void ask(std::type_index what, std::size_t size, Run run) {
    const Turn turn(busy_);
    if (recording_ == nullptr) return run();
    recording_->push_back({what, size, std::move(run)});
  }

  SplitMix64 random_;
  std::atomic<bool> busy_ = false;
  Recording* recording_ = nullptr;  ///< while something is recorded
  std::size_t repeats_ = 0;
  std::vector<std::vector<std::byte>> memory_;
  std::vector<std::chrono::steady_clock::time_point> marks_;
  std::optional<std::size_t> mark_of_waits_;
};

}  // namespace thinpipe::cuda
