// Memory of a device, and the order of what is done with it.
#pragma once

#include <cstddef>

namespace thinpipe {

/// A GPU with a stream of work, or a processor that plays one. Requests run in order, and have
/// ended when wait() returns. Not thread-safe.
class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;

  /// Zeros, aligned to 16 bytes at least; freed with the device. @throws RunError
  virtual void* allocate(std::size_t bytes) = 0;
  /// Zeros in the host's memory, freed with the device: what is moved from or to there need not be
  /// copied on the way, and repeated work finds it in its place. @throws RunError
  virtual void* allocate_host(std::size_t bytes) = 0;
  /// Bytes that allocate() may find free.
  virtual std::size_t free_bytes() = 0;
  virtual void upload(void* device_to, const void* from, std::size_t bytes) = 0;
  virtual void download(void* to, const void* device_from, std::size_t bytes) = 0;
  /// From one place on the device to another.
  virtual void copy(void* device_to, const void* device_from, std::size_t bytes) = 0;
  virtual void zero(void* device_at, std::size_t bytes) = 0;
  /// @throws RunError when something that was asked for has failed.
  virtual void wait() = 0;
};

}  // namespace thinpipe
