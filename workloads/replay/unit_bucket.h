// Common part of all buckets, wherever their compressors run: units in their order, their payloads,
// and their expected results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/registry.h"
#include "workloads/exchange/pattern.h"
#include "workloads/replay/bucket.h"
#include "workloads/replay/plan.h"

namespace thinpipe {

/// Neighbouring units whose payloads one all-reduce sums.
struct SumGroup {
  Summation summation;
  std::size_t first = 0, last = 0;      ///< units [first, last)
  std::size_t begin = 0, elements = 0;  ///< of the bucket
};

/// Units of a bucket that all-reduces sum in 16 bits. A step: prepare(), exchange(), decode().
class HalfSums {
 public:
  /// @param groups  of 16-bit elements, one after the other, at least one
  HalfSums(const PlannedBucket& plan, std::vector<SumGroup> groups, int ranks);

  /// Size of all groups' payloads, one after the other.
  std::size_t bytes() const { return sums_.size() * sizeof(std::uint16_t); }
  /// The first byte of an element of the bucket among these.
  std::size_t place(std::size_t element) const {
    return (element - groups_.front().begin) * sizeof(std::uint16_t);
  }

  /// Divides by the number of ranks what is divided before the sum. The payloads stay where they
  /// are until exchange() has ended.
  /// @throws RunError naming a unit of which an element is as great as its type can say, or greater
  void prepare(std::span<const std::byte> own);
  void exchange(Pattern& pattern);
  /// The bucket's means as floats, each in its place.
  /// @throws RunError naming a unit of which a sum is too great for its type
  void decode(std::span<float> bucket) const;

 private:
  std::span<const std::uint16_t> of(std::span<const std::uint16_t> all,
                                    const SumGroup& group) const;
  [[noreturn]] void refuse_overflow(const SumGroup& group, std::span<const std::uint16_t> halves,
                                    const char* what) const;

  struct Unit {
    std::string name;
    std::size_t elements;
  };
  std::vector<Unit> units_;  ///< of the bucket
  std::vector<SumGroup> groups_;
  int ranks_;
  std::span<const std::uint16_t> own_;
  std::vector<std::uint16_t> divided_, sums_;
};

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
  /// Own payload of a unit that is summed.
  virtual std::span<const std::byte> own_summed(std::size_t unit) const = 0;

  std::size_t units() const { return plan_.units.size(); }
  /// Factor from a sum of the group's arrays to the mean.
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
  /// Splits the own message, before own_payload() of units of which anything was sent.
  void split_own() const;
  std::span<const std::byte> own_payload(std::size_t unit) const {
    return unit < summed_ ? own_summed(unit) : split_[unit - summed_];
  }
  std::span<float> part(std::size_t unit, std::span<float> all) const {
    return all.subspan(offsets_[unit], plan_.units[unit].info.elements);
  }
  /// To divide a sum over ranks by.
  float factor() const { return 1.0F / static_cast<float>(ranks_); }
  /// Units that are summed in 32 bits; arrays are those of the bucket.
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
