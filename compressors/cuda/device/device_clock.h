// A device's own clock.
#pragma once

#include <cstddef>
#include <optional>

namespace thinpipe {

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

}  // namespace thinpipe
