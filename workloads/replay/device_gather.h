// Payloads on their way from a device to the other ranks, and theirs to it.
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/exchange/staged_gather.h"
#include "workloads/replay/device_bus.h"
#include "workloads/replay/device_messages.h"
#include "workloads/replay/device_room.h"
#include "workloads/replay/device_upload.h"

namespace thinpipe {

/// Bytes after which what was copied may be sent: tens of microseconds of PCIe, which is what a
/// copy costs to ask for and to wait for.
constexpr std::size_t kDownloadPiece = std::size_t{1} << 18;

/// The message of one bucket in one step. begin() starts copies of its payloads to pinned memory,
/// one after the other; an all-gather takes what has come of them; what arrives goes up to the
/// device at once. Everything but exchange() belongs to the thread that has the device.
class DeviceGather : public DeviceMessages, private StagedGather {
 public:
  /// @param time_scale  at least 1 (DeviceBus)
  DeviceGather(const RankDevice& device, int rank, int ranks, double time_scale);

  void begin(std::span<const DevicePayload> payloads) override;
  /// Where nothing is gathered: payloads come down in that order, whatever the message's.
  void begin(std::span<const DevicePayload> payloads, std::span<const std::size_t> order);
  /// With a time scale above 1 it returns when what is on its way up would have arrived; else that
  /// goes on while others are decoded.
  void exchange(Pattern& pattern) override;
  std::span<const DevicePayload> payloads_of(int rank) override;
  BucketCopies finish() override;
  std::span<const std::byte> own() const override { return {own_.data(), size_}; }

  // Where nothing is gathered.
  /// Bytes of that payload that are there, or more.
  std::size_t come(std::size_t unit);
  /// Waits until all of own() is.
  void wait_for_own();

 private:
  /// Copies of the own message that are waited for together.
  struct Stretch {
    BusCopy copy;
    std::size_t end;  ///< bytes that were to be copied until then
  };
  struct Arrival {
    DeviceUpload upload;
    std::exception_ptr malformed;
  };

  std::size_t ready() override;
  /// What is there no room for yet is left to payloads_of().
  void arrived(int rank, std::span<const std::byte> message) override;
  void begin_step(std::span<const DevicePayload> payloads);
  void add_copies(std::size_t unit, const DevicePayload& payload);
  void end_stretch();
  std::size_t copied();

  RankDevice device_;
  int rank_;
  DeviceBus down_, up_;
  DeviceRoom own_;
  std::size_t size_ = 0;                             ///< of the message
  std::vector<std::size_t> places_, copied_before_;  ///< by payload: in it, and bytes
  std::vector<DeviceCopy> copies_;                   ///< of the stretch that is being added to
  std::size_t copied_ = 0;                           ///< bytes of these
  std::size_t asked_ = 0;                            ///< bytes of all
  std::vector<Stretch> stretches_;
  std::size_t next_ = 0;              ///< stretch that has not come
  std::vector<Arrival> arrivals_;     ///< by rank
  std::vector<std::size_t> sent_up_;  ///< of these, in this order
  std::vector<std::span<const std::byte>> split_;
};

}  // namespace thinpipe
