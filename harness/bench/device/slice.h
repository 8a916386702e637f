// Timing work on a device, and not trusting it: by the device's clock and by the host's.
#pragma once

#include <functional>
#include <string>

#include "compressors/cuda/device_clock.h"

namespace thinpipe {

/// Something to time on a device.
struct DeviceTimed {
  std::string name;            ///< unique within one measurement
  std::function<void()> call;  ///< asks for the work of one call
  bool waits = false;          ///< call() also waits for it; else calls queue up behind each other
};

/// What one of several calls took, in seconds.
struct DeviceSlice {
  /// By the device: of calls that wait, from a call's begin to the end of the last work that it
  /// asked for; else what all of them took together, over their number.
  double device = 0;
  double wall = 0;  ///< by the host, until the device had nothing left to do
  double cpu = 0;   ///< what the calling thread had of the processor meanwhile
};

/// Times so many calls. The host's clock is stopped when the whole device is idle: work that the
/// device's marks did not see (on another stream, or asked for and not begun) makes the two differ.
/// They must agree within 2 % and 0.1 ms, which is more than starting, waiting and the marks take.
/// What came between on the host can part them as well, so a slice that disagrees is taken again.
/// @throws ValidationError when three of them disagree
DeviceSlice take_slice(DeviceClock& clock, const DeviceTimed& timed, int calls);

}  // namespace thinpipe
