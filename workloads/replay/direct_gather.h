// Payloads that go from device to device without the host's memory between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/replay/device_messages.h"

namespace thinpipe {

/// By a pattern that has Pattern::on_devices(). Ranks tell each other the lengths of all payloads,
/// then gather the payloads, which lie one after the other without gaps: as many bytes as a message
/// has that goes through the host.
class DirectGather : public DeviceMessages {
 public:
  /// @param most  the longest payload of each unit, in bytes. Room for those of all ranks is taken
  /// on the device. @throws RunError where there is not that much
  DirectGather(const RankDevice& device, int ranks, std::span<const std::size_t> most);

  /// Lays them one after the other, and waits for that: MPI knows no streams.
  void begin(std::span<const DevicePayload> payloads) override;
  /// @throws PayloadError for a length that cannot be
  void exchange(Pattern& pattern) override;
  std::span<const DevicePayload> payloads_of(int rank) override;
  /// Copies there are none but the library's own.
  BucketCopies finish() override { return {}; }
  std::span<const std::byte> own() const override;

 private:
  std::size_t units() const { return most_.size(); }

  RankDevice device_;
  std::vector<std::size_t> most_;
  std::byte *own_ = nullptr, *all_ = nullptr;         ///< messages on the device
  std::byte* aligned_ = nullptr;                      ///< one rank's payloads, as they are decoded
  std::vector<std::uint32_t> lengths_, all_lengths_;  ///< of payloads, by rank and unit
  std::vector<std::size_t> sizes_;                    ///< of messages, by rank
  std::vector<DevicePayload> payloads_;
  std::vector<DeviceCopy> copies_;
  mutable std::vector<std::byte> host_;  ///< the own message, once it was asked for
};

}  // namespace thinpipe
