// A bucket whose gradients lie in a device's memory, and whose compressors run there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/device_gather.h"
#include "workloads/replay/device_room.h"
#include "workloads/replay/device_units.h"

namespace thinpipe {

/// Only payloads cross the bus: they are copied to pinned memory while those before them are sent,
/// and those of other ranks are copied up while more arrive. Its part of the aggregate stays on the
/// device. What all-reduces sum is summed by the processor.
class DeviceBucket : public Bucket {
 public:
  /// @param number  among the buckets, as Gradients counts them
  /// @param time_scale  at least 1: copies last so many times longer, as links do
  /// @param device_aggregate  the bucket's part of it, on the device
  /// @throws InputError for specs that do not fit, or that have no twin on the device
  DeviceBucket(const RankDevice& device, const PlannedBucket& plan, std::size_t number,
               const CompressorSettings& settings, int ranks, std::uint64_t local_steps,
               double time_scale, float* device_aggregate);

  std::size_t elements() const override { return elements_; }
  std::uint64_t period() const override;
  std::size_t message_capacity() const override { return capacity_; }
  const PlannedBucket& plan() const override { return plan_; }
  bool shares_scales() const override { return !scales_.empty(); }
  bool sends(std::uint64_t exchange) const override;

  void load(Gradients& gradients, std::uint64_t index) override;
  void add_up(Gradients& gradients, std::uint64_t index) override;
  void take_scales(const Gradients& gradients, std::uint64_t index) override;
  void share_scales(Pattern& pattern) override;
  void encode(const Gradients& gradients, std::uint64_t index) override;
  void begin_copies() override;
  void skip() override;
  const BucketPayload& payload() const override { return payload_; }
  RoundsTime exchange(Pattern& pattern, std::span<float> aggregate) override;
  /// @throws std::logic_error: workers of parameter servers have no device
  void push(Pattern& pattern) override;
  bool pull(Pattern& pattern) override;
  void decode(std::span<float> aggregate) override;
  bool decodes() const override { return true; }
  BucketCopies copies() const override { return took_; }

  bool sent_as_it_lies() const override;
  Distortion distortion(const Gradients& gradients, std::uint64_t index) const override;
  void own_contribution(std::span<float> out) const override;
  void expected(const Pattern& pattern, std::span<const std::span<const float>> contributions,
                std::span<float> out) const override;
  bool takes_mean(const Pattern& pattern) const override;
  bool incremental(std::size_t unit) const override { return units_->twin(unit).incremental(); }
  void save_state(std::vector<std::byte>& state) override { units_->save_state(state); }
  void load_state(ByteReader& state) override { units_->load_state(state); }

 private:
  void add_to_payload();
  void download_floats();
  void decode_gathered();
  std::span<const std::byte> own_payload(std::size_t unit) const;
  std::span<float> part(std::size_t unit, std::span<float> all) const {
    return all.subspan(offsets_[unit], plan_.units[unit].info.elements);
  }

  RankDevice device_;
  PlannedBucket plan_;
  std::size_t number_;
  int rank_, ranks_;
  std::uint64_t local_steps_;
  double time_scale_;
  std::unique_ptr<DeviceUnits> units_;
  std::vector<std::size_t> offsets_;  ///< of units in the bucket's part
  std::size_t elements_ = 0, capacity_ = 0;
  std::size_t summed_ = 0;  ///< the first so many units are all-reduced
  std::size_t summed_elements_ = 0;
  bool sums_ = false, gathers_ = false;  ///< in this step
  std::vector<float> scales_;            ///< by unit, where ranks share them; else empty
  DeviceRoom floats_, means_;            ///< what is all-reduced, pinned
  std::size_t floats_down_ = 0;          ///< number of the copies of it
  double floats_begun_ = 0;              ///< when, by the host's clock
  DeviceGather gather_;
  std::vector<DevicePayload> payloads_;  ///< by gathered unit
  float* aggregate_;                     ///< on the device
  BucketPayload payload_;
  BucketCopies took_;
  mutable std::vector<std::span<const std::byte>> split_;  ///< the own message, by gathered unit
};

}  // namespace thinpipe
