// Copies between a device and the host that go on beside the device's other work.
#pragma once

#include <cstddef>
#include <span>

namespace thinpipe {

/// Bytes to be copied from one place to another.
struct DeviceCopy {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};

/// Copies of one DeviceMemory: on streams of their own, one each way, so that kernels, copies up
/// and copies down overlap. The host's side should be pinned (DeviceMemory::allocate_host): else
/// the copy is right, but nothing goes on beside it. May be asked in several threads.
class DeviceCopies {
 public:
  virtual ~DeviceCopies() = default;

  /// Makes the device the calling thread's, for libraries that are handed addresses on it.
  virtual void use_in_this_thread() = 0;
  /// Begins copies to the host. They begin when all is done that the memory was asked for before,
  /// in the order in which they were asked for; what it is asked for later does not wait for them.
  /// The memory must not be used in another thread meanwhile.
  /// @returns a number for all of them together, in use until take() @throws RunError
  virtual std::size_t begin_downloads(std::span<const DeviceCopy> copies) = 0;
  /// Begins a copy to the device, likewise, but it waits for nothing that the memory was asked for:
  /// no kernel may be at work on what it writes to.
  virtual std::size_t begin_upload(const DeviceCopy& copy) = 0;
  /// Work requested of the memory from now on waits for these copies.
  virtual void join(std::size_t number) = 0;

  /// Whether they have ended. @throws RunError when one has failed
  virtual bool ended(std::size_t number) = 0;
  /// Waits until they have; then the number may be given again. @returns s that they took by the
  /// device's clock, from the moment when the first could begin @throws RunError
  virtual double take(std::size_t number) = 0;
};

}  // namespace thinpipe
