// A bucket whose gradients are in the host's memory and whose compressors run on the CPU.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/message.h"
#include "workloads/replay/pace.h"

namespace thinpipe {

class HostBucket : public Bucket {
 public:
  /// @param number  among the buckets, as Gradients counts them
  /// @param first_unit  of this bucket, among those of replay_units(), with parameter servers
  /// @throws InputError for specs that do not fit the bucket or each other
  HostBucket(const PlannedBucket& plan, std::size_t number, std::size_t first_unit,
             const BucketSettings& settings);

  std::size_t message_capacity() const override {
    return std::max(
        {sparse_ ? 0 : message_.size(), encoded_.size(), scales_.size() * sizeof(float)});
  }
  void add_up(Gradients& gradients, std::uint64_t index) override {
    for (std::size_t i = 0; i < units_.size(); ++i)
      gradients.add(number_, i, plan_.units[i], index);
  }
  void take_scales(const Gradients& gradients, std::uint64_t index) override;
  void encode(const Gradients& gradients, std::uint64_t index) override;
  void skip() override;
  void decode(std::span<float> aggregate) override;
  bool decodes() const override {
    if (!sums_ && !gathers_) return !zero_;
    return !sums_ || rounds_ || float_units_ < units();
  }

  bool sent_as_it_lies() const override { return as_it_lies_ && float_units_ == units(); }
  const RoundFloats* rounds() const override { return rounds_.get(); }
  void save_state(std::vector<std::byte>& state) override {
    if (sparse_) sparse_->give_back();
    for (const Unit& unit : units_) append_state(*unit.compressor, state);
  }
  void load_state(ByteReader& state) override {
    if (sparse_) sparse_->forget();
    for (Unit& unit : units_) take_state(state, *unit.compressor);
  }

 private:
  struct Unit {
    std::unique_ptr<Compressor> compressor;
    SharedScale* shared_scale = nullptr;
    bool sent = false;                        ///< in the last step
    std::span<const std::byte> payload = {};  ///< of summed units
    bool has_target = false;                  ///< its k is the same on all ranks
  };

  void exchange(std::span<float> aggregate) override;
  void push(PushPull& servers) override {
    pushed_->push(
        servers, [&](std::size_t i) { return units_[i].sent; }, split_);
  }
  bool pull(PushPull& servers) override { return pushed_->pull(servers); }
  const Compressor& compressor(std::size_t unit) const override { return *units_[unit].compressor; }
  bool sent(std::size_t unit) const override { return units_[unit].sent; }
  std::span<const std::byte> own_message() const override {
    return std::span(message_).first(message_size_);
  }
  std::span<const std::byte> own_summed(std::size_t unit) const override {
    return units_[unit].payload;
  }
  const SparseSums* sparse_sums() const override { return sparse_.get(); }
  const PushedUnits* pushed_units() const override { return pushed_.get(); }

  bool take_as_they_lie(const Gradients& gradients, std::uint64_t index);
  void encode_unit(std::size_t unit, const GradientInput& input);
  void decode_gathered(std::span<float> aggregate);
  void decode_answers(std::span<float> aggregate);

  std::vector<Unit> units_;
  std::unique_ptr<PushedUnits> pushed_;  ///< with servers
  std::vector<std::byte> joined_;        ///< answers to a unit's pieces
  std::span<const std::byte> floats_;    ///< input of the all-reduce: gradients, or in encoded_
  std::vector<std::byte> encoded_;
  std::unique_ptr<HalfSums> halves_;  ///< of units that are summed in 16 bits
  std::vector<std::byte> own_halves_;
  bool verbatim_ = false;           ///< the payloads of summed units are copies of their gradients
  bool as_it_lies_ = false;         ///< and this step sends the gradients without a copy
  std::vector<std::byte> message_;  ///< to be all-gathered: lengths, then payloads
  std::size_t message_size_ = 0;
  std::unique_ptr<Rounds> rounds_;      ///< where summed units take several, instead of encoded_
  std::unique_ptr<SparseSums> sparse_;  ///< with a sparse all-reduce instead of an all-gather
  Pace pace_;                           ///< of codec work between rounds
  bool zero_ = false;  ///< this bucket's range of the aggregate is 0 since the last step
  const std::vector<std::span<const std::byte>>* arrived_ = nullptr;
};

}  // namespace thinpipe
