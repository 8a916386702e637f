// All-reduces of data of a bucket that is on a device, while the ranks' CPUs add up: arrays that a
// collective sends quantised, rounds of several all-reduces, and elements that are selected again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/collectives/collective.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/device_bus.h"
#include "workloads/replay/device_units.h"
#include "workloads/replay/pace.h"
#include "workloads/replay/sums.h"

namespace thinpipe {

/// All-reduces arrays that the collective sends quantised. The device quantises them, and only the
/// codes are copied to pinned memory, not the floats. If the collective quantises again between
/// hops, the host's CPU does so. A step: encode(), begin_copies(), exchange(). exchange() may be
/// called by another thread than the one that uses the device.
class DeviceCodes {
 public:
  /// @param time_scale  at least 1 (DeviceBus) @throws InputError for codes without a
  /// GPU implementation; RunError when its memory does not suffice
  DeviceCodes(const RankDevice& device, const CodedSlices& slices, double time_scale);

  /// Quantises the array. Returns when it is quantised.
  /// @param floats  the array on the device, unit by unit
  void encode(std::span<const DevicePayload> floats);
  void begin_copies();
  /// All-reduces. @returns the copies' duration, in seconds
  double exchange(CodedAllReduce& all_reduce, std::span<float> result, float factor);

 private:
  RankDevice device_;
  std::vector<std::size_t> sizes_;    ///< of slices, in bytes of floats
  std::vector<std::byte*> arrays_;    ///< of slices, on the device
  std::vector<const float*> inputs_;  ///< arrays_ as floats
  std::unique_ptr<DeviceCompressor> compressor_;
  std::vector<std::size_t> coded_;  ///< bytes of slices' codes in the last step
  DeviceBus bus_;
  DeviceBuffer codes_;  ///< pinned
  BusCopy down_;
  std::vector<DeviceCopy> copies_;
  std::vector<std::span<const std::byte>> slices_;
};

/// One step's rounds of all-reduces whose compressors run on a device; the counterpart of Rounds.
/// Each round's floats are copied to pinned memory and summed by the ranks' CPUs, and the means are
/// copied to the device for the next round.
/// A step: begin(); DeviceUnits::encode(); begin_copies(); run(); decode().
class DeviceRounds : public RoundFloats {
 public:
  /// @param units  of a bucket, which must outlive this; the first `summed` are all-reduced
  /// @param threads  of the host's codec, whose CPU time is measured
  DeviceRounds(const RankDevice& device, DeviceUnits& units, std::size_t summed, double time_scale,
               int threads);

  /// Forgets the previous step.
  void begin() {
    used_ = 0;
    took_ = {};
    ends_.clear();
  }
  /// Starts copying the first round's floats to the host.
  void begin_copies() {
    down_.begin();
    up_.begin();
    download(0);
  }
  /// Runs all rounds with the other ranks. The calling thread also uses the device. The time of
  /// copies counts as exchange.
  /// @param factor  by which sums are multiplied
  ExchangeTime run(AllReduce& all_reduce, float factor, Pace& pace);
  /// Returns the copies' durations over all rounds.
  BucketCopies copies() const { return took_; }

  /// Adds the aggregate of all units to the bucket's range. @param offsets  of units in the range
  void decode(std::span<const std::size_t> offsets, float* device_part) const;

  /// Returns a unit's payload of the aggregate, or of this rank's contribution, in the form that
  /// the CPU compressor decodes. Valid until the next call.
  std::span<const std::byte> result(std::size_t unit) const override;
  std::span<const std::byte> own_payload(std::size_t unit) const override;

 private:
  struct Unit {
    std::size_t at = 0, size = 0;  ///< of its floats in its last round
  };

  /// Returns whether the unit sends floats in the round after `round` rounds.
  bool goes_on(std::size_t unit, int round) const {
    return round == 0 || round < rounds_of(units_.cpu_compressor(unit));
  }
  void download(int round);

  RankDevice device_;
  DeviceUnits& units_;
  int threads_;
  int most_rounds_ = 1;
  std::vector<Unit> summed_;
  std::size_t used_ = 0;  ///< of own_
  DeviceBuffer own_buffer_, means_buffer_, device_means_;
  std::vector<const float*> device_means_of_;  ///< of each unit, on the device
  DeviceBus down_, up_;
  BusCopy coming_;  ///< begun by download()
  BucketCopies took_;
  mutable std::vector<std::byte> payload_;
};

/// Units of a bucket on a device whose elements are summed as pairs of index and value, and
/// selected again. Payloads are copied to the host, where the ranks' CPUs decode them to pairs and
/// merge the pairs. The result is copied to the device as positions and values. Values that are
/// restored to residuals are copied in the same form. A step: begin(), exchange(), put().
/// exchange() may be called by another thread than the one that uses the device.
class DeviceSparse {
 public:
  /// @param units  of the bucket, on the device
  /// @param plan  of these units; both must outlive this
  /// @param first  the first unit whose elements are selected again; all units after it are
  /// selected again as well
  /// @param time_scale  at least 1 (DeviceBus)
  /// @param threads  that decode pairs
  /// @throws InputError for too many elements
  DeviceSparse(const RankDevice& device, const DeviceUnits& units, const PlannedBucket& plan,
               std::size_t first, double time_scale, int threads);

  /// Restores to the residuals on the device the values that the last exchange dropped. Called
  /// before units are encoded or accumulated.
  /// @returns the copy's duration, in seconds
  double begin() {
    sums_.begin();
    return send_back();
  }
  /// Restores these values at once, before a checkpoint.
  void give_back() {
    sums_.give_back();
    send_back();
  }
  /// Drops these values, after a checkpoint was loaded.
  void forget() { sums_.forget(); }

  /// Sums and selects pairs together with the other ranks, and starts copying the result to the
  /// device. With a time scale above 1, returns when the copy would have ended on the slower bus.
  /// If the buffers are too small, put() enlarges them.
  /// @param payloads  of this rank, by unit, in the host's memory; ignored for units that are not
  /// sent
  ExchangeTime exchange(SparseAllReduce& sparse, float factor,
                        std::span<const std::span<const std::byte>> payloads);
  /// Returns the bytes of this rank's pairs in the last exchange.
  std::size_t pair_bytes() const { return pair_bytes_; }
  const SparseSums& sums() const { return sums_; }

  /// Copies the sums, which are sparse, to the device, and writes them to the bucket's range of the
  /// aggregate there. Elements without a sum are not written, so the range must be 0 before.
  /// @returns the copy's duration, in seconds
  double put(float* device_part);

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
  std::vector<bool> has_target_;  ///< by unit: its k is the same on all ranks
  std::vector<bool> has_memory_;  ///< by unit: its compressor takes back what was dropped
  SparseSums sums_;
  int threads_;
  DeviceBus bus_;        ///< to the device
  DeviceUpload upload_;  ///< of positions and values
  Pace pace_;
  std::size_t pair_bytes_ = 0;
  std::vector<Back> back_;
  std::vector<std::uint32_t> positions_;  ///< within units
  std::vector<float> values_;
  std::vector<DeviceReturn> returns_;  ///< of back_, with positions and values on the device
};

}  // namespace thinpipe
