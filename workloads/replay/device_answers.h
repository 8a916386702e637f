// What parameter servers answer, decoded on a device.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/replay/device_bus.h"
#include "workloads/replay/device_units.h"
#include "workloads/replay/device_upload.h"
#include "workloads/replay/pushed_units.h"

namespace thinpipe {

/// Of one bucket. A step: PushedUnits::push(), then pull() until it says so, then add().
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
