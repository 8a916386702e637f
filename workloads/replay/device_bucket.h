// A bucket whose gradients are in a device's memory and whose compressors run on the device; and a
// step's result on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "workloads/collectives/outer_optimiser.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/device_bus.h"
#include "workloads/replay/device_gather.h"
#include "workloads/replay/device_sums.h"
#include "workloads/replay/device_units.h"

namespace thinpipe {

/// Result of a step on a device: the aggregate and the outer optimiser's update, for all buckets of
/// a replay, one after the other. Aggregate, update and the optimiser's velocity stay on the device
/// until they are fetched.
class DeviceResult {
 public:
  /// Allocates the arrays. @throws RunError when the device's memory does not suffice
  DeviceResult(const RankDevice& device, std::size_t elements,
               const std::optional<OuterOptions>& outer);

  /// Returns the device pointer of the aggregate's `elements` floats.
  float* aggregate() const { return aggregate_; }

  /// Computes the update from the aggregate, with the same bits as OuterOptimiser::apply(). Returns
  /// when the update is complete. Only with an outer optimiser.
  void apply_outer();
  /// Copies the result to the host's memory, outside of a step's time.
  /// @param update,  velocity with an outer optimiser, of the same size as `aggregate`; else empty
  void fetch(std::span<float> aggregate, std::span<float> update, std::span<float> velocity);
  /// Restores the velocity from a checkpoint.
  void set_velocity(std::span<const float> velocity) {
    device_.memory->upload(velocity_, velocity.data(), velocity.size_bytes());
    device_.memory->wait();
  }

 private:
  RankDevice device_;
  std::size_t elements_;
  std::optional<OuterOptions> outer_;
  float *aggregate_ = nullptr, *update_ = nullptr, *velocity_ = nullptr;
};

/// A bucket on a device. Only payloads cross the bus to and from the host. A payload is copied to
/// pinned memory while earlier payloads are sent, and other ranks' payloads are copied to the
/// device while more payloads arrive. The bucket's range of the aggregate stays on the device. In
/// all-reduces, dense or sparse, the host's CPU adds up; dense all-reduces take several rounds if a
/// method has them. Servers' answers are decoded on the device.
class DeviceBucket : public Bucket {
 public:
  /// @param number  the bucket's index, as Gradients counts buckets
  /// @param first_unit  with parameter servers, the index of the bucket's first unit in
  /// replay_units()
  /// @param settings  with a time scale of at least 1 (DeviceBus)
  /// @param device_aggregate  the bucket's range of the aggregate, on the device
  /// @param overlaps  whether other buckets are encoded and decoded while this bucket is exchanged
  /// @throws InputError for specs that do not fit, or that have no GPU implementation; RunError
  /// when the device's memory does not suffice
  DeviceBucket(const PlannedBucket& plan, std::size_t number, std::size_t first_unit,
               const BucketSettings& settings, const RankDevice& device, float* device_aggregate,
               bool overlaps);

  std::size_t message_capacity() const override { return capacity_; }

  void connect(Collective& collective) override;
  void load(Gradients& gradients, std::uint64_t index) override;
  void add_up(Gradients& gradients, std::uint64_t index) override;
  void take_scales(const Gradients& /*gradients*/, std::uint64_t index) override {
    units_->take_scales(index / settings_.local_steps, summed_, scales_);
  }
  void encode(const Gradients& gradients, std::uint64_t index) override;
  void begin_copies() override;
  void skip() override;
  void decode(std::span<float> aggregate) override;
  bool decodes() const override { return true; }
  BucketCopies copies() const override { return took_; }

  bool sent_as_it_lies() const override;
  const RoundFloats* rounds() const override { return rounds_.get(); }
  void save_state(std::vector<std::byte>& state) override {
    if (sparse_) sparse_->give_back();
    units_->save_state(state);
  }
  void load_state(ByteReader& state) override {
    if (sparse_) sparse_->forget();
    units_->load_state(state);
  }

 private:
  void exchange(std::span<float> aggregate) override;
  void push(PushPull& servers) override;
  bool pull(PushPull& servers) override {
    return answers_->pull(servers, [&](std::size_t i) { return sent(i); });
  }
  const Compressor& compressor(std::size_t unit) const override {
    return units_->cpu_compressor(unit);
  }
  bool sent(std::size_t unit) const override { return units_->sent(unit); }
  std::span<const std::byte> own_message() const override { return messages().own(); }
  std::span<const std::byte> own_summed(std::size_t unit) const override {
    if (unit < float_units_) fetch_floats();
    return {place_of(unit), units_->report(unit).encoded_bytes};
  }
  const SparseSums* sparse_sums() const override { return sparse_ ? &sparse_->sums() : nullptr; }
  const PushedUnits* pushed_units() const override {
    return answers_ ? &answers_->pushed() : nullptr;
  }
  Distortion unit_distortion(std::size_t unit, const Gradients& gradients,
                             std::uint64_t index) const override {
    return units_->distortion(unit, gradients, index, own_payload(unit));
  }

  DeviceMessages& messages() {
    if (direct_) return *direct_;
    return gather_;
  }
  const DeviceMessages& messages() const {
    if (direct_) return *direct_;
    return gather_;
  }
  void connect_codes();
  void exchange_summed();
  void exchange_selected();
  std::byte* place_of(std::size_t unit) const;
  BusCopy begin_download(std::size_t first, std::size_t last, DeviceBus& bus);
  void fetch_floats() const;
  void decode_summed();
  void decode_gathered();

  std::unique_ptr<DeviceUnits> units_;
  RankDevice device_;  ///< of units_
  std::size_t capacity_ = 0;
  DeviceBus bus_, halves_bus_;   ///< to the host, for units that are summed
  mutable DeviceBuffer floats_;  ///< summed in 32 bits, pinned; with codes_ filled on demand
  mutable bool has_floats_ = false;
  DeviceBuffer own_halves_;             ///< summed in 16 bits, pinned
  DeviceBuffer means_;                  ///< of floats_ and own_halves_, as floats
  std::unique_ptr<DeviceCodes> codes_;  ///< where the collective sends floats_ quantised
  BusCopy floats_down_, halves_down_;
  std::unique_ptr<HalfSums> halves_;
  std::unique_ptr<DeviceRounds> rounds_;  ///< where summed units take several, instead of floats_
  Pace pace_;                             ///< of codec work between rounds
  BucketSettings settings_;
  DeviceGather gather_;
  std::unique_ptr<DirectGather> direct_;    ///< instead of gather_, where the collective has it
  std::unique_ptr<DeviceAnswers> answers_;  ///< with servers
  std::unique_ptr<DeviceSparse> sparse_;    ///< with a sparse all-reduce instead of an all-gather
  std::vector<DevicePayload> payloads_;     ///< by all-gathered unit
  float* aggregate_;                        ///< on the device
  BucketCopies took_;
};

}  // namespace thinpipe
