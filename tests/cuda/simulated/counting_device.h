// A device that counts the bytes that it copies to the host.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "compressors/cuda/rank_device.h"

namespace thinpipe::cuda {

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

inline RankDevice counting(RankDevice device, const std::shared_ptr<BytesDown>& down) {
  device.memory = std::make_shared<CountingMemory>(device.memory, down);
  device.copies = std::make_shared<CountingCopies>(device.copies, down);
  return device;
}

}  // namespace thinpipe::cuda
