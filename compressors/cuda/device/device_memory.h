// Memory of a device, the stream on which it is used, its clock, and copies on further streams.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

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

/// Events on the stream of a DeviceMemory: CUDA events, or points in time of a simulated GPU.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;

  /// Records event `number` after all work enqueued so far. Recording it again moves it.
  virtual void mark(std::size_t number) = 0;
  /// Makes every later DeviceMemory::wait() record this event before it waits. After an operation
  /// that waits once or several times, the event thus marks the end of the operation's last device
  /// work, without the time of the return to the host. std::nullopt ends the recording.
  virtual void mark_waits(std::optional<std::size_t> number) = 0;
  /// Waits for both events and returns the seconds between them. @throws RunError
  virtual double seconds(std::size_t from, std::size_t to) = 0;
  /// Waits for all work of the device, on this stream and on others.
  /// @throws RunError if any of it failed
  virtual void wait_for_all() = 0;
};

/// One copy of `bytes` bytes.
struct DeviceCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};

/// Copies between the host and the memory of one GPU (DeviceMemory), on two streams of their own,
/// one for each direction, so that kernels, uploads and downloads overlap. Host memory should be
/// pinned (DeviceMemory::allocate_host()). Copies of unpinned host memory are correct, but overlap
/// with nothing. Thread-safe.
class DeviceCopies {
 public:
  virtual ~DeviceCopies() = default;

  /// Makes the device the calling thread's current one, for libraries that take device pointers.
  virtual void use_in_this_thread() = 0;
  /// Enqueues copies to the host, in order. They wait for all work enqueued on the memory's stream
  /// before this call; work enqueued later does not wait for them. No other thread may use the
  /// memory during the call.
  /// @returns a number for all of them together, valid until take() @throws RunError
  virtual std::size_t begin_downloads(std::span<const DeviceCopy> copies) = 0;
  /// Enqueues a copy to the device. It does not wait for the memory's stream: no pending kernel may
  /// use the destination.
  virtual std::size_t begin_upload(const DeviceCopy& copy) = 0;
  /// Makes work enqueued on the memory's stream from now on wait for these copies.
  virtual void join(std::size_t number) = 0;

  /// Returns whether the copies have ended. @throws RunError if one failed
  virtual bool ended(std::size_t number) = 0;
  /// Waits for the copies and releases the number.
  /// @returns their duration in s by the device's clock, counted from the moment when the first
  /// copy could start @throws RunError
  virtual double take(std::size_t number) = 0;
};

}  // namespace thinpipe
