// A bucket's units on a device whose elements are summed as pairs and selected again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/device_bus.h"
#include "workloads/replay/device_units.h"
#include "workloads/replay/device_upload.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/sparse_sums.h"

namespace thinpipe {

/// What ranks merge on the way is merged by their processors: own payloads come down and are
/// decoded to pairs there. What comes of it goes up as positions and values, and so does what a
/// memory takes back. A step: begin(), exchange(), put(). exchange() may be called by another
/// thread than the one that has the device.
class DeviceSparse {
 public:
  /// @param units  of the bucket, on the device; @param plan  of these; both must outlive this
  /// @param first  of the units that are selected from: it and all after it
  /// @param time_scale  at least 1 (DeviceBus) @param threads  that decode pairs
  /// @throws InputError for too many elements
  DeviceSparse(const RankDevice& device, const DeviceUnits& units, const PlannedBucket& plan,
               std::size_t first, double time_scale, int threads);

  /// Before units are encoded or held back: puts back into memories on the device what the last
  /// exchange dropped. @returns s that its copy took
  double begin();
  /// Puts that back at once: before a checkpoint.
  void give_back();
  /// There is nothing to be put back: after a checkpoint was restored.
  void forget() { sums_.forget(); }

  /// Sums and selects with the other ranks, and sends what comes of it up. With a time scale above
  /// 1 it returns when that would have arrived; room that is missing is made by put().
  /// @param payloads  own ones, of all units, in the host's memory; those of units that were sent
  /// count
  RoundsTime exchange(Pattern& pattern, float factor,
                      std::span<const std::span<const std::byte>> payloads);
  /// Bytes that own pairs of the last exchange took.
  std::size_t pair_bytes() const { return pair_bytes_; }
  /// Of decoding them, in the last exchange.
  const Pace& pace() const { return pace_; }

  /// What came of it, into elements on the device that are 0. @returns s that its copy took
  double put(float* device_part);

  void expected(const Pattern& pattern, std::span<const std::span<const float>> vectors,
                float factor, std::span<float> out) const {
    sums_.expected(pattern, vectors, factor, out);
  }

 private:
  /// Of a unit, among positions_ and values_.
  struct Back {
    std::size_t unit, at, count;
  };

  double send_back();
  SparseSums sums_of(const DeviceUnits& units, std::size_t count);

  RankDevice device_;
  const DeviceUnits& units_;
  std::size_t first_;
  std::vector<bool> has_target_;  ///< by unit: the number that it aims at is no rank's own
  SparseSums sums_;
  int threads_;
  DeviceBus bus_;        ///< up
  DeviceUpload upload_;  ///< of positions and values
  Pace pace_;
  std::size_t pair_bytes_ = 0;
  std::vector<Back> back_;
  std::vector<std::uint32_t> positions_;  ///< within units
  std::vector<float> values_;
  std::vector<DeviceReturn> returns_;  ///< the same, on the device
};

}  // namespace thinpipe
