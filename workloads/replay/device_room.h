// Room in a device's memory, or pinned on the host, that grows with what it must hold.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "compressors/cuda/device_memory.h"

namespace thinpipe {

/// What grows loses what was in it, and the place where it was stays taken until the device is
/// closed: it grows by half at least.
class DeviceRoom {
 public:
  enum class Where { kDevice, kPinned };
  DeviceRoom(std::shared_ptr<DeviceMemory> memory, Where where)
      : memory_(std::move(memory)), where_(where) {}

  std::size_t size() const { return size_; }
  std::byte* data() const { return data_; }
  /// Waits for the device where it grows, which must not be at work on it. @throws RunError
  std::byte* grow(std::size_t bytes) {
    if (bytes <= size_) return data_;
    size_ = bytes + bytes / 2;
    data_ = static_cast<std::byte*>(where_ == Where::kDevice ? memory_->allocate(size_)
                                                             : memory_->allocate_host(size_));
    memory_->wait();  // it clears what it gives; copies beside it would not wait for that
    return data_;
  }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  Where where_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace thinpipe
