// What all-reduces sum, where they send it quantised: quantised on a device.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/device_bus.h"
#include "workloads/replay/device_room.h"
#include "workloads/replay/device_upload.h"

namespace thinpipe {

/// Floats never cross the bus on their way out: codes come down to pinned memory. What a pattern
/// quantises again between hops is quantised by the processor. A step: encode(), begin_copies(),
/// exchange(), which may be called by another thread than the one that has the device.
class DeviceCodes {
 public:
  /// @param time_scale  at least 1 (DeviceBus) @throws InputError for codes that have no twin on
  /// the device; RunError when its memory does not suffice
  DeviceCodes(const RankDevice& device, const CodedSlices& slices, double time_scale);

  /// @param floats  on the device: of all units one after the other the whole array. Returns when
  /// that is done.
  void encode(std::span<const DevicePayload> floats);
  void begin_copies();
  /// @returns s that copies took
  double exchange(Pattern& pattern, std::span<float> result, float factor);

 private:
  RankDevice device_;
  std::vector<std::size_t> sizes_;    ///< of slices, in bytes of floats
  std::vector<std::byte*> arrays_;    ///< of slices, on the device
  std::vector<const float*> inputs_;  ///< the same
  std::unique_ptr<DeviceCompressor> compressor_;
  std::vector<std::size_t> coded_;  ///< bytes of slices' codes in the last step
  DeviceBus bus_;
  DeviceRoom codes_;  ///< pinned
  BusCopy down_;
  std::vector<DeviceCopy> copies_;
  std::vector<std::span<const std::byte>> slices_;
};

}  // namespace thinpipe
