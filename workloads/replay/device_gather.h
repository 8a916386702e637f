// Exchange of payloads on a device with the other ranks: all-gathered through the host's memory or
// directly between devices, or answered by parameter servers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/collectives/collective.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/device_bus.h"
#include "workloads/replay/device_units.h"
#include "workloads/replay/push_pull_units.h"

namespace thinpipe {

/// All-gather of one bucket's payloads between ranks whose payloads are on a device. A step:
/// begin(), exchange(), payloads_of() each rank, finish(). exchange() may be called by another
/// thread than the one that uses the device.
class DeviceMessages {
 public:
  virtual ~DeviceMessages() = default;

  /// Begins a step.
  /// @param payloads  of this rank's units, in order; they stay untouched until finish()
  virtual void begin(std::span<const DevicePayload> payloads) = 0;
  virtual void exchange(Collective& collective) = 0;
  /// Returns another rank's payloads on the device, unit by unit. They are valid for work on the
  /// device that is queued before the next call. @throws PayloadError for a malformed message
  virtual std::span<const DevicePayload> payloads_of(int rank) = 0;
  /// Ends the step: the device has used the payloads. @returns the copies' durations
  virtual BucketCopies finish() = 0;

  /// Returns this rank's message (message.h) in the host's memory, after the step.
  virtual std::span<const std::byte> own() const = 0;
};

/// Bytes that one copy takes to the host; they may be sent when that copy has ended. On PCIe they
/// take tens of microseconds, about as long as starting a copy and waiting for it.
constexpr std::size_t kDownloadPiece = std::size_t{1} << 18;

/// DeviceMessages through the host's memory. begin() starts copies of the payloads to pinned
/// memory, one after the other. The all-gather sends bytes as soon as they have been copied, and
/// messages that arrive are copied to the device at once. begin(), payloads_of() and finish()
/// belong to the thread that uses the device; exchange(), come() and wait_for_own() may be called
/// by the thread that exchanges.
class DeviceGather : public DeviceMessages, private StagedGather {
 public:
  /// @param time_scale  at least 1 (DeviceBus)
  DeviceGather(const RankDevice& device, int rank, int ranks, double time_scale);

  void begin(std::span<const DevicePayload> payloads) override;
  /// Begins a step without an all-gather: payloads are copied in this order, not the message's.
  void begin(std::span<const DevicePayload> payloads, std::span<const std::size_t> order);
  /// All-gathers the payloads. With a time scale above 1, returns when the copies of received
  /// payloads to the device would have ended on the slower bus. Otherwise these copies continue
  /// while other payloads are decoded.
  void exchange(Collective& collective) override;
  std::span<const DevicePayload> payloads_of(int rank) override;
  BucketCopies finish() override;
  std::span<const std::byte> own() const override { return {own_.data(), size_}; }

  // Without an all-gather.
  /// Returns how many bytes of a payload are on the host; once it is complete, possibly more.
  std::size_t come(std::size_t unit) {
    const std::size_t all = copied();
    return all - std::min(all, copied_before_[unit]);
  }
  /// Waits until all of own() is on the host.
  void wait_for_own() {
    for (; next_ < stretches_.size(); ++next_) down_.pass(stretches_[next_].copy);
  }

 private:
  /// Copies of this rank's message that are waited for together.
  struct Stretch {
    BusCopy copy;
    std::size_t end;  ///< bytes of all copies up to the end of these
  };
  struct Arrival {
    DeviceUpload upload;
    std::exception_ptr malformed;
  };

  std::size_t ready() override { return size_ - asked_ + copied(); }
  /// Copies a message to the device; one that does not fit the buffers yet waits for payloads_of().
  void arrived(int rank, std::span<const std::byte> message) override;
  void begin_step(std::span<const DevicePayload> payloads);
  void add_copies(std::size_t unit, const DevicePayload& payload);
  void end_stretch();
  std::size_t copied();

  RankDevice device_;
  int rank_;
  DeviceBus down_, up_;
  DeviceBuffer own_;
  std::size_t size_ = 0;                             ///< of the message
  std::vector<std::size_t> places_, copied_before_;  ///< by payload: offset; bytes of copies before
  std::vector<DeviceCopy> copies_;                   ///< of the stretch that is being added to
  std::size_t copied_ = 0;                           ///< bytes of copies_
  std::size_t asked_ = 0;                            ///< bytes of all copies of the step
  std::vector<Stretch> stretches_;
  std::size_t next_ = 0;              ///< first stretch that has not ended
  std::vector<Arrival> arrivals_;     ///< by rank
  std::vector<std::size_t> sent_up_;  ///< ranks whose upload was begun, in this order
  std::vector<std::span<const std::byte>> split_;
};

/// All-gathers payloads (DeviceMessages) directly from device to device, not through the host's
/// memory, by a collective that has DeviceAllGather. Ranks all-gather the lengths of all payloads,
/// then the payloads, one after the other without gaps. The number of bytes is the same as for
/// messages through the host.
class DirectGather : public DeviceMessages {
 public:
  /// Allocates buffers on the device for the payloads of all ranks. @param most  the longest
  /// payload of each unit, in bytes. @throws RunError when the device's memory does not suffice
  DirectGather(const RankDevice& device, int ranks, std::span<const std::size_t> most);

  /// Copies payloads into one buffer and waits for the copies, since MPI has no streams.
  void begin(std::span<const DevicePayload> payloads) override;
  /// All-gathers. @throws PayloadError for an impossible length
  void exchange(Collective& collective) override;
  std::span<const DevicePayload> payloads_of(int rank) override;
  /// Returns 0: only the MPI library copies.
  BucketCopies finish() override { return {}; }
  std::span<const std::byte> own() const override;

 private:
  std::size_t units() const { return most_.size(); }

  RankDevice device_;
  std::vector<std::size_t> most_;
  std::byte *own_ = nullptr, *all_ = nullptr;         ///< messages on the device
  std::byte* aligned_ = nullptr;                      ///< one rank's payloads, spaced for decoding
  std::vector<std::uint32_t> lengths_, all_lengths_;  ///< of payloads, by rank and unit
  std::vector<std::size_t> sizes_;                    ///< of messages, by rank
  std::vector<DevicePayload> payloads_;
  std::vector<DeviceCopy> copies_;
  mutable std::vector<std::byte> host_;  ///< this rank's message, after own()
};

/// Parameter servers' answers to one bucket, decoded on a device. A step: PushedUnits::push(), then
/// pull() until it returns true, then add().
class DeviceAnswers {
 public:
  /// @param units  the bucket's units, in device memory. A unit's compressor decodes the servers'
  /// answers to the unit if the answers have the same spec; otherwise another compressor does
  /// @param plan  the plan of the bucket; `units` and `plan` must outlive this object
  /// @param first_unit  the index of the bucket's first unit in replay_units()
  /// @param time_scale  the factor of time dilation, at least 1 (DeviceBus)
  /// @throws InputError as make_compressor does, and if the answers' method has no GPU
  /// implementation; RunError if the device has too little memory
  DeviceAnswers(const RankDevice& device, const DeviceUnits& units, const PlannedBucket& plan,
                const PushPullOptions& servers, std::size_t first_unit,
                const CompressorSettings& settings, double time_scale);

  PushedUnits& pushed() { return pushed_; }
  const PushedUnits& pushed() const { return pushed_; }
  /// Polls the collective. When all answers have arrived, starts copying them to the device.
  /// @returns whether all answers have arrived. With a time scale above 1 (time dilation), returns
  /// true only when the copies have ended, too
  bool pull(PushPull& servers, const std::function<bool(std::size_t unit)>& sent);
  /// Decodes the answers to all units that were sent, and adds them to the bucket's range of the
  /// aggregate, on the device.
  /// @param offsets  of units in the range @throws PayloadError naming the unit
  /// @returns the copies' duration, in seconds
  double add(const std::function<bool(std::size_t unit)>& sent,
             std::span<const std::size_t> offsets, float* device_part);

 private:
  static constexpr std::size_t kOwn = ~std::size_t{0};
  struct Decoder {
    std::size_t group = kOwn, place = 0;  // `place`: index among the group's tensors
  };

  void begin_decode(std::size_t unit, const DevicePayload& payload, float* device_out);
  void send_up(const std::function<bool(std::size_t unit)>& sent);

  const DeviceUnits& units_;
  const PlannedBucket& plan_;
  PushedUnits pushed_;
  std::vector<Decoder> decoders_;                          ///< by unit
  std::vector<std::unique_ptr<DeviceCompressor>> groups_;  ///< of units with answers of one spec
  DeviceBus bus_;
  DeviceUpload upload_;
  bool goes_up_ = false;  ///< all answers have arrived, and their copies are waited for
};

}  // namespace thinpipe
