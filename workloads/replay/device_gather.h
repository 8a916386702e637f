// Payloads on their way from a device to the other ranks, and theirs to it.
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/exchange/staged_gather.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/device_room.h"

namespace thinpipe {

/// A payload on a device.
struct DevicePayload {
  const std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// The message of one bucket in one step. begin() starts copies of its payloads to pinned memory,
/// one after the other; an all-gather takes what has come of them; what arrives goes up to the
/// device at once. Everything but the StagedGather belongs to the thread that has the device.
class DeviceGather : public StagedGather {
 public:
  /// @param time_scale  at least 1; above, a copy counts as ended when it would have on a machine
  ///                    whose bus is so many times slower
  DeviceGather(const RankDevice& device, int rank, int ranks, double time_scale);

  /// @param payloads  of this rank's units, in order; they stay as they are until finish()
  void begin(std::span<const DevicePayload> payloads);

  std::span<const std::byte> own() const override { return {own_.data(), size_}; }
  std::size_t ready() override;
  /// What is there no room for yet is left to payloads_of().
  void arrived(int rank, std::span<const std::byte> message) override;

  /// With a time scale above 1, after the all-gather and by the same thread: returns when what is
  /// on its way up would have arrived. Else it goes on while others are decoded.
  void pass_uploads();

  /// After the all-gather: another rank's payloads on the device, unit by unit, for what the device
  /// is asked for from now on. @throws PayloadError for a malformed message
  std::span<const DevicePayload> payloads_of(int rank);
  /// The device is done with them. @returns s that copies took
  BucketCopies finish();

 private:
  /// Of copies in slow motion.
  struct Slow {
    bool taken = false;           ///< from DeviceCopies
    double seconds = 0, due = 0;  ///< that they took; when they end
  };
  /// Copies of the own message that are waited for together.
  struct Stretch {
    std::size_t number, end;  ///< of the copies; in the message
    Slow slow = {};
  };
  struct Arrival {
    std::span<const std::byte> message;
    std::vector<DevicePayload> payloads;
    std::exception_ptr malformed;
    std::size_t bytes = 0;  ///< of room that its payloads need
    DeviceRoom pinned, there;
    std::size_t number = 0;  ///< of its upload
    bool under_way = false;
    double begun = 0;  ///< when, by the host's clock
    Slow slow = {};
  };

  void add_copies(std::size_t at, const DevicePayload& payload);
  void end_stretch(std::size_t end);
  void slow_down(std::size_t number, double begun, double& free, Slow& slow);
  double took(std::size_t number, const Slow& slow);
  void lay_out(Arrival& arrival);
  void send_up(Arrival& arrival);

  RankDevice device_;
  int rank_;
  double time_scale_;
  std::size_t units_ = 0;
  DeviceRoom own_;
  std::size_t size_ = 0, ready_ = 0;
  std::vector<DeviceCopy> copies_;  ///< of the stretch that is being added to
  std::size_t copied_ = 0;          ///< bytes of these
  std::vector<Stretch> stretches_;
  std::size_t next_ = 0;                ///< stretch that has not come
  double begun_ = 0;                    ///< when copies down did, by the host's clock
  double down_free_ = 0, up_free_ = 0;  ///< when the slow bus has ended what it was given
  std::vector<Arrival> arrivals_;       ///< by rank
  std::vector<std::size_t> sent_up_;    ///< of these, in this order
  std::vector<std::span<const std::byte>> split_;
};

}  // namespace thinpipe
