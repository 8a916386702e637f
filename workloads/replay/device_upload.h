// Payloads that have come to the host, on their way up to a device.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/replay/device_bus.h"
#include "workloads/replay/device_room.h"

namespace thinpipe {

/// A payload on a device.
struct DevicePayload {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// Bytes that a payload takes where it is decoded: the next one begins at a multiple of 4, behind 4
/// readable bytes more (DeviceCompressor::begin_decode).
inline std::size_t decode_room(std::size_t payload) { return (payload + 3) / 4 * 4 + 4; }

/// A step: clear(), add() of each, begin(), payloads(), finish().
class DeviceUpload {
 public:
  explicit DeviceUpload(const RankDevice& device);

  void clear();
  /// One more payload, which stays as it is until begin().
  void add(std::span<const std::byte> payload);
  /// More of the last one.
  void append(std::span<const std::byte> more);

  /// Where there is none, only the thread that has the device may begin().
  bool has_room() const;
  /// Through pinned memory.
  void begin();
  bool under_way() const { return under_way_; }
  BusCopy& copy() { return copy_; }

  /// On the device, for what it is asked for from now on, where a compressor takes them
  /// (DeviceCompressor::decode_add).
  std::span<const DevicePayload> payloads(DeviceBus& bus);
  /// The device is done with them. @returns s that copies took
  double finish(DeviceBus& bus);

 private:
  struct Part {
    std::span<const std::byte> bytes;
    std::size_t at;  ///< in the room
  };

  RankDevice device_;
  std::vector<Part> parts_;
  std::vector<DevicePayload> payloads_;
  std::vector<std::size_t> places_;  ///< of these in the room
  std::size_t bytes_ = 0;            ///< of room that they need
  DeviceRoom pinned_, there_;
  BusCopy copy_;
  bool under_way_ = false;
};

}  // namespace thinpipe
