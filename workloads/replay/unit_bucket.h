// What buckets have in common wherever their compressors run: units in their order, what was sent
// of them, and what must come of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/half_sums.h"

namespace thinpipe {

/// Units that all-reduces sum lie first, 32-bit floats before 16-bit ones; those whose payloads are
/// gathered after them.
class UnitBucket : public Bucket {
 public:
  std::size_t elements() const override { return elements_; }
  std::uint64_t period() const override;
  const PlannedBucket& plan() const override { return plan_; }
  bool shares_scales() const override { return !scales_.empty(); }
  bool sends(std::uint64_t exchange) const override;

  void share_scales(Pattern& pattern) override;
  const BucketPayload& payload() const override { return payload_; }

  void own_contribution(std::span<float> out) const override;
  void expected(const Pattern& pattern, std::span<const std::span<const float>> contributions,
                std::span<float> out) const override;
  bool takes_mean(const Pattern& pattern) const override;
  std::vector<RoundedSum> rounded_sums(const Pattern& pattern) const override;

 protected:
  /// @param number  among the buckets, as Gradients counts them
  /// @param sums  dense payloads are summed on their way; else all are gathered
  UnitBucket(const PlannedBucket& plan, std::size_t number, int ranks, bool sums);

  /// The unit's, on the processor.
  virtual const Compressor& compressor(std::size_t unit) const = 0;
  /// In the last step.
  virtual bool sent(std::size_t unit) const = 0;
  /// That message, where anything is gathered in this step.
  virtual std::span<const std::byte> own_message() const = 0;
  /// Of a unit that is summed.
  virtual std::span<const std::byte> own_summed(std::size_t unit) const = 0;

  std::size_t units() const { return plan_.units.size(); }
  /// What a sum of the group's arrays is multiplied by to become the mean.
  float factor(const SumGroup& group) const { return group.summation.predivides ? 1 : factor(); }
  bool sends_unit(std::size_t unit, std::uint64_t exchange) const {
    return (exchange + 1) % compressor(unit).period() == 0;
  }
  /// @throws InputError when not all that is summed is so in the same steps
  void check_delays() const;
  /// @throws InputError when payloads of a gathered unit are no pairs, for a sparse all-reduce
  void check_pairs() const;
  /// Room for scales where any of the gathered units shares its own.
  void make_room_for_scales();
  /// Forgets what the step before sent.
  void begin_payload();
  /// @param bytes  that are sent of it, and whether those are summed on their way
  void add_to_payload(std::size_t unit, const EncodeReport& report, std::size_t bytes, bool summed);
  /// Of units of which anything was sent; their message is split first.
  void split_own() const;
  std::span<const std::byte> own_payload(std::size_t unit) const {
    return unit < summed_ ? own_summed(unit) : split_[unit - summed_];
  }
  std::span<float> part(std::size_t unit, std::span<float> all) const {
    return all.subspan(offsets_[unit], plan_.units[unit].info.elements);
  }
  /// To divide a sum over ranks by.
  float factor() const { return 1.0F / static_cast<float>(ranks_); }
  /// Of the units that are summed in 32 bits; arrays are those of the bucket.
  virtual void expected_sums(const Pattern& pattern,
                             std::span<const std::span<const float>> contributions,
                             std::span<float> out) const;
  virtual void expected_gathered(const Pattern& pattern,
                                 std::span<const std::span<const float>> contributions,
                                 std::span<float> out) const;

 private:
  void add_to_groups(std::size_t unit);
  void expected_half_sums(const Pattern& pattern,
                          std::span<const std::span<const float>> contributions,
                          std::span<float> out) const;

 protected:
  PlannedBucket plan_;
  std::size_t number_;  ///< among the buckets, as Gradients counts them
  int ranks_;
  std::vector<std::size_t> offsets_;  ///< of units in the bucket's part
  std::size_t elements_ = 0;
  std::size_t summed_ = 0;               ///< the first so many units are all-reduced
  std::size_t summed_elements_ = 0;      ///< of these
  std::size_t float_units_ = 0;          ///< the first so many of them in 32 bits
  std::size_t float_elements_ = 0;       ///< of these
  std::vector<SumGroup> half_groups_;    ///< the others
  bool sums_ = false, gathers_ = false;  ///< in this step
  std::vector<float> scales_;            ///< by gathered unit, where ranks share them; else empty
  BucketPayload payload_;
  mutable std::vector<std::span<const std::byte>> split_;  ///< a message, by gathered unit
};

}  // namespace thinpipe
