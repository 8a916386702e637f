// Data of a bucket on a device that all-reduces sum in the ranks' processors: arrays that a pattern
// sends quantised, rounds of several all-reduces, and elements that are selected again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/device_bus.h"
#include "workloads/replay/device_units.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/rounds.h"
#include "workloads/replay/sparse_sums.h"

namespace thinpipe {

/// Arrays that all-reduces send quantised: quantised on a device.
/// Floats never cross the bus on their way out: codes come down to pinned memory. The processor
/// requantises between hops where a pattern does so. A step: encode(), begin_copies(), exchange(),
/// which may be called by another thread than the one that has the device.
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

/// One step's rounds of all-reduces whose compressors run on a device.
/// As rounds.h in the host's memory: each round's floats come down to pinned memory, are summed by
/// the ranks' processors, and their means go up again to be processed there.
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
  /// Copy times of all rounds.
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

/// A bucket's units on a device whose elements are summed as pairs and selected again.
/// The ranks' processors merge on the way: own payloads come down and are decoded to pairs there.
/// The result goes up as positions and values, and so do the values that a memory takes back. A
/// step: begin(), exchange(), put(). exchange() may be called by another thread than the one that
/// has the device.
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
  /// Pace of decoding them, in the last exchange.
  const Pace& pace() const { return pace_; }

  /// Puts the result into elements on the device that are 0. @returns s that its copy took
  double put(float* device_part);

  void expected(const Pattern& pattern, std::span<const std::span<const float>> vectors,
                float factor, std::span<float> out) const {
    sums_.expected(pattern, vectors, factor, out);
  }

 private:
  /// A unit's range in positions_ and values_.
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
