// Payloads on their way from a device to the other ranks, and theirs to it: gathered through the
// host's memory or without it, or answered by parameter servers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/device_bus.h"
#include "workloads/replay/device_units.h"
#include "workloads/replay/push_pull_units.h"

namespace thinpipe {

/// Exchange of a rank's payloads on a device: all ranks' messages, each rank's by itself. One
/// bucket's messages, step by step: begin(), exchange(), payloads_of(), finish(). exchange() may be
/// called by another thread than the one that has the device.
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
  /// Messages without room yet are left to payloads_of().
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

/// Payloads that go from device to device without the host's memory between, by a pattern that has
/// Pattern::on_devices(). Ranks tell each other the lengths of all payloads, then gather the
/// payloads, which lie one after the other without gaps: as many bytes as a message has that goes
/// through the host.
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

/// Parameter servers' answers to one bucket, decoded on a device. A step: PushedUnits::push(), then
/// pull() until it says so, then add().
class DeviceAnswers {
 public:
  /// @param units  of the bucket, on the device: their compressors decode answers of their own spec
  /// @param plan  of these; both must outlive this
  /// @param first_unit  of this bucket, among those of replay_units()
  /// @param time_scale  at least 1 (DeviceBus)
  /// @throws InputError as make_compressor, and for answers that have no twin on the device;
  /// RunError when its memory does not suffice
  DeviceAnswers(const RankDevice& device, const DeviceUnits& units, const PlannedBucket& plan,
                const PushPullOptions& servers, std::size_t first_unit,
                const CompressorSettings& settings, double time_scale);

  PushedUnits& pushed() { return pushed_; }
  const PushedUnits& pushed() const { return pushed_; }
  /// Asks the pattern, and sends what has come up to the device. @returns whether it has come, and
  /// with a time scale above 1 whether it has gone up
  bool pull(Pattern& pattern, const std::function<bool(std::size_t unit)>& sent);
  /// Adds what units that were sent decode to to the bucket's part, on the device.
  /// @param offsets  of units in it @throws PayloadError naming the unit
  /// @returns s that copies took
  double add(const std::function<bool(std::size_t unit)>& sent,
             std::span<const std::size_t> offsets, float* device_part);

 private:
  enum class State { kPulling, kGoingUp };
  static constexpr std::size_t kOwn = ~std::size_t{0};
  struct Decoder {
    std::size_t group = kOwn, place = 0;  // among that group's tensors
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
  State state_ = State::kPulling;
};

}  // namespace thinpipe
