// Memory of a device, and the stream on which it is used.
#pragma once

#include <cstddef>

namespace thinpipe {

/// A stream on a GPU, or on a simulated GPU. Operations are asynchronous and run in order; wait()
/// waits for all of them. Not thread-safe.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// Allocates zeroed device memory, aligned to at least 16 bytes. It is freed with this object.
  /// @throws RunError
  virtual void* allocate(std::size_t bytes) = 0;
  /// Allocates zeroed host-pinned memory, freed with this object. Copies from and to pinned memory
  /// need no staging copy, and its address stays valid in captured graphs. @throws RunError
  virtual void* allocate_host(std::size_t bytes) = 0;
  /// Returns the free device memory in bytes.
  virtual std::size_t free_bytes() = 0;
  virtual void upload(void* device_to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const void* device_from, std::size_t bytes) = 0;
  /// Copies within device memory.
  virtual void copy(void* device_to, const void* device_from, std::size_t bytes) = 0;
  virtual void zero(void* device_at, std::size_t bytes) = 0;
  /// Waits for all enqueued work. @throws RunError if any of it failed
  virtual void wait() = 0;
};

}  // namespace thinpipe
