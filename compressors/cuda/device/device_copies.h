// Asynchronous copies between device and host, on streams of their own.
#pragma once

#include <cstddef>
#include <span>

namespace thinpipe {

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
