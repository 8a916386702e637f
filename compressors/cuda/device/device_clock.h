// How long a device takes, told by the device itself.
#pragma once

#include <cstddef>
#include <optional>

namespace thinpipe {

/// Marks in the order of what a DeviceMemory is asked for: a GPU's events on its stream, or moments
/// on the clock of a processor that plays one.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;

  /// Sets a mark where all that was asked for before is done. A second time it is moved there.
  virtual void mark(std::size_t number) = 0;
  /// From now on every DeviceMemory::wait() begins by setting this mark: after something that waits
  /// for the device, once or several times, it is where the last of its work was done, and the way
  /// back to the host is behind it. Nothing: no more.
  virtual void mark_waits(std::optional<std::size_t> number) = 0;
  /// From one mark to another, when both have been reached. @throws RunError
  virtual double seconds(std::size_t from, std::size_t to) = 0;
  /// Waits for all that the device does, on this stream and elsewhere. @throws RunError when
  /// something has failed.
  virtual void wait_for_all() = 0;
};

}  // namespace thinpipe
