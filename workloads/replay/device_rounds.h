// One step's rounds of all-reduces whose compressors run on a device.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/device_bus.h"
#include "workloads/replay/device_room.h"
#include "workloads/replay/device_units.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/round_floats.h"
#include "workloads/replay/rounds.h"

namespace thinpipe {

/// What rounds.h does with the host's memory: each round's floats come down to pinned memory, are
/// summed by the ranks' processors, and their means go up again for what is made of them there.
/// A step: begin(); DeviceUnits::encode(); begin_copies(); run(); decode().
class DeviceRounds : public RoundFloats {
 public:
  /// @param units  of a bucket, which must outlive this; `summed` of them are all-reduced
  /// @param threads  of the host's codec, whose processor time counts
  DeviceRounds(const RankDevice& device, DeviceUnits& units, std::size_t summed, double time_scale,
               int threads);

  /// Forgets the step before.
  void begin();
  /// The first round's floats leave for the host.
  void begin_copies();
  /// Runs all rounds with the other ranks, in a thread that has the device meanwhile. Copies are
  /// part of the exchange. @param factor  of sums
  RoundsTime run(Pattern& pattern, float factor, Pace& pace);
  /// Of the copies of all rounds.
  BucketCopies copies() const { return took_; }

  /// Adds the aggregate of all units to the bucket's part. @param offsets  of units in it
  void decode(std::span<const std::size_t> offsets, float* device_part) const;

  /// The payload of the aggregate, and of this rank's part, for the processor's twin; until the
  /// next call.
  std::span<const std::byte> result(std::size_t unit) const;
  std::span<const std::byte> own_payload(std::size_t unit) const;

 private:
  struct Unit {
    std::size_t at = 0, size = 0;  ///< of its floats in the last round that it took part in
  };

  bool goes_on(std::size_t unit, int round) const;
  void download(int round);

  RankDevice device_;
  DeviceUnits& units_;
  int threads_;
  int most_rounds_ = 1;
  std::vector<Unit> summed_;
  std::size_t used_ = 0;  ///< of own_
  DeviceRoom own_room_, means_room_, device_means_;
  std::vector<const float*> means_there_;  ///< of each unit, on the device
  DeviceBus down_, up_;
  BusCopy coming_;  ///< what download() has begun
  BucketCopies took_;
  mutable std::vector<std::byte> payload_;
};

}  // namespace thinpipe
