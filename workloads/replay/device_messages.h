// What a rank's payloads on a device are exchanged by: all ranks' messages, each rank's by itself.
#pragma once

#include <cstddef>
#include <span>

#include "workloads/exchange/pattern.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/device_upload.h"

namespace thinpipe {

/// One bucket's messages, step by step: begin(), exchange(), payloads_of(), finish(). exchange()
/// may be called by another thread than the one that has the device.
class DeviceMessages {
 public:
  virtual ~DeviceMessages() = default;

  /// @param payloads  of this rank's units, in order; they stay as they are until finish()
  virtual void begin(std::span<const DevicePayload> payloads) = 0;
  virtual void exchange(Pattern& pattern) = 0;
  /// Another rank's payloads on the device, unit by unit, for what the device is asked for from now
  /// on until the next call. @throws PayloadError for a malformed message
  virtual std::span<const DevicePayload> payloads_of(int rank) = 0;
  /// The device is done with them. @returns s that copies took
  virtual BucketCopies finish() = 0;

  /// This rank's message (message.h), in the host's memory; after the step.
  virtual std::span<const std::byte> own() const = 0;
};

}  // namespace thinpipe
