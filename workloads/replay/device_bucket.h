// A bucket whose gradients lie in a device's memory, and whose compressors run there; and what a
// step ends with there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/exchange/outer_optimiser.h"
#include "workloads/replay/device_bus.h"
#include "workloads/replay/device_gather.h"
#include "workloads/replay/device_sums.h"
#include "workloads/replay/device_units.h"
#include "workloads/replay/unit_bucket.h"

namespace thinpipe {

/// Result of a step on a device: the aggregate, and the outer optimiser's update. Holds all buckets
/// of a replay, one after the other. Both stay on the device until they are fetched, and so does
/// the optimiser's velocity.
class DeviceResult {
 public:
  /// @throws RunError when the device's memory does not suffice
  DeviceResult(const RankDevice& device, std::size_t elements,
               const std::optional<OuterOptions>& outer);

  /// On the device, `elements` of them.
  float* aggregate() const { return aggregate_; }

  /// Makes the update of the aggregate, as OuterOptimiser::apply(): the same bits. Returns when
  /// that is done. Only with an outer optimiser.
  void apply_outer();
  /// To the host's memory, outside of a step's time. @param update, velocity  of as many elements
  /// with an outer optimiser, else empty
  void fetch(std::span<float> aggregate, std::span<float> update, std::span<float> velocity);
  /// From a checkpoint.
  void set_velocity(std::span<const float> velocity);

 private:
  RankDevice device_;
  std::size_t elements_;
  std::optional<OuterOptions> outer_;
  float *aggregate_ = nullptr, *update_ = nullptr, *velocity_ = nullptr;
};

/// Where a bucket of a rank lies.
struct DevicePlace {
  RankDevice device;
  float* device_aggregate = nullptr;  ///< the bucket's part of it, on the device
  double time_scale = 1;              ///< at least 1 (DeviceBus)
  bool overlaps = false;  ///< other buckets are encoded and decoded while this one is exchanged
};

/// Only payloads cross the bus: they are copied to pinned memory while those before them are sent,
/// and those of other ranks are copied up while more arrive. Its part of the aggregate stays on the
/// device. The processor sums for all-reduces, dense (in rounds where a method has them) or sparse.
/// With parameter servers nothing is summed and no scale shared, and their answers are decoded on
/// the device.
class DeviceBucket : public UnitBucket {
 public:
  /// @param number  among the buckets, as Gradients counts them
  /// @param sparse_sums  as of ProcessorBucket
  /// @throws InputError for specs that do not fit, or that have no twin on the device; RunError
  /// when its memory does not suffice
  DeviceBucket(const DevicePlace& place, const PlannedBucket& plan, std::size_t number,
               const CompressorSettings& settings, int ranks, std::uint64_t local_steps,
               bool sparse_sums);
  /// With parameter servers. @param first_unit  of this bucket, among those of replay_units()
  DeviceBucket(const DevicePlace& place, const PlannedBucket& plan, std::size_t number,
               const CompressorSettings& settings, std::uint64_t local_steps,
               const PushPullOptions& servers, std::size_t first_unit);

  std::size_t message_capacity() const override { return capacity_; }

  void connect(Pattern& pattern) override;
  void load(Gradients& gradients, std::uint64_t index) override;
  void add_up(Gradients& gradients, std::uint64_t index) override;
  void take_scales(const Gradients& gradients, std::uint64_t index) override;
  void encode(const Gradients& gradients, std::uint64_t index) override;
  void begin_copies() override;
  void skip() override;
  RoundsTime exchange(Pattern& pattern, std::span<float> aggregate) override;
  void push(Pattern& pattern) override;
  bool pull(Pattern& pattern) override;
  void decode(std::span<float> aggregate) override;
  bool decodes() const override { return true; }
  BucketCopies copies() const override { return took_; }

  bool sent_as_it_lies() const override;
  Distortion distortion(const Gradients& gradients, std::uint64_t index) const override;
  double rounds_own() const override { return pace_.own() + (sparse_ ? sparse_->pace().own() : 0); }
  double rounds_overrun() const override {
    return pace_.overrun() + (sparse_ ? sparse_->pace().overrun() : 0);
  }
  bool takes_mean(const Pattern& pattern) const override;
  bool incremental(std::size_t unit) const override;
  void save_state(std::vector<std::byte>& state) override;
  void load_state(ByteReader& state) override;
  const RoundFloats* rounds() const override { return rounds_.get(); }

 private:
  DeviceBucket(const DevicePlace& place, const PlannedBucket& plan, std::size_t number,
               const CompressorSettings& settings, int ranks, std::uint64_t local_steps,
               bool sparse_sums, const PushPullOptions* servers, std::size_t first_unit);

  const Compressor& compressor(std::size_t unit) const override { return units_->twin(unit); }
  bool sent(std::size_t unit) const override { return units_->sent(unit); }
  std::span<const std::byte> own_message() const override { return messages().own(); }
  std::span<const std::byte> own_summed(std::size_t unit) const override;
  void expected_sums(const Pattern& pattern, std::span<const std::span<const float>> contributions,
                     std::span<float> out) const override;
  void expected_gathered(const Pattern& pattern,
                         std::span<const std::span<const float>> contributions,
                         std::span<float> out) const override;

  DeviceMessages& messages() {
    if (direct_) return *direct_;
    return gather_;
  }
  const DeviceMessages& messages() const {
    if (direct_) return *direct_;
    return gather_;
  }
  void connect_codes(const Pattern& pattern);
  std::vector<DevicePayload> device_floats() const;
  void download_floats();
  void download_halves();
  void fetch_floats() const;
  void decode_summed();
  void decode_gathered();

  std::uint64_t local_steps_;
  std::unique_ptr<DeviceUnits> units_;
  RankDevice device_;  ///< theirs
  std::size_t capacity_ = 0;
  DeviceBus bus_, halves_bus_;  ///< of what is summed, to the host
  mutable DeviceRoom floats_;   ///< these, pinned; of codes, only when they are asked for
  mutable bool has_floats_ = false;
  DeviceRoom own_halves_;               ///< what is summed in 16 bits, pinned
  DeviceRoom means_;                    ///< of both, as floats
  std::unique_ptr<DeviceCodes> codes_;  ///< where the pattern sends these quantised
  BusCopy floats_down_, halves_down_;
  std::unique_ptr<HalfSums> halves_;
  std::unique_ptr<DeviceRounds> rounds_;  ///< where summed units take several, instead of these
  Pace pace_;                             ///< of codec work between rounds
  int rank_;
  double time_scale_;
  DeviceGather gather_;
  std::unique_ptr<DirectGather> direct_;    ///< instead, where the pattern has it
  std::unique_ptr<DeviceAnswers> answers_;  ///< where there are servers
  std::unique_ptr<DeviceSparse> sparse_;    ///< of the units that are not gathered then
  std::vector<DevicePayload> payloads_;     ///< by gathered unit
  float* aggregate_;                        ///< on the device
  BucketCopies took_;
};

}  // namespace thinpipe
