// Units of a bucket that all-reduces sum in 16 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compressors/registry.h"
#include "workloads/collectives/collective.h"
#include "workloads/replay/plan.h"

namespace thinpipe {

/// Neighbouring units whose payloads one all-reduce sums.
struct SumGroup {
  Summation summation;
  std::size_t first = 0, last = 0;      ///< units [first, last)
  std::size_t begin = 0, elements = 0;  ///< of the bucket
};

/// A step: prepare(), exchange(), decode().
class HalfSums {
 public:
  /// @param plan  of the bucket; must outlive this
  /// @param groups  of 16-bit elements, one after the other, at least one
  HalfSums(const PlannedBucket& plan, std::vector<SumGroup> groups, int ranks);

  /// Returns the size of all groups' payloads, one after the other.
  std::size_t bytes() const { return sums_.size() * sizeof(std::uint16_t); }
  /// Returns the first byte of an element of the bucket, in the payloads of all groups.
  std::size_t place(std::size_t element) const {
    return (element - groups_.front().begin) * sizeof(std::uint16_t);
  }

  /// Divides the payloads of groups with `predivides` by the number of ranks. The caller must not
  /// change the payloads until exchange() has ended.
  /// @throws RunError naming a unit with an element at or above its type's greatest magnitude
  void prepare(std::span<const std::byte> own);
  void exchange(AllReduce& all_reduce);
  /// Writes the means as floats, each at its element of the bucket.
  /// @throws RunError naming a unit with a sum that is too large for its type
  void decode(std::span<float> bucket) const;

 private:
  /// Returns a group's elements among those of all groups.
  template <class Half>
  std::span<Half> of(std::span<Half> all, const SumGroup& group) const {
    return all.subspan(group.begin - groups_.front().begin, group.elements);
  }
  [[noreturn]] void refuse_overflow(const SumGroup& group, std::span<const std::uint16_t> halves,
                                    const char* what) const;

  const PlannedBucket& plan_;
  std::vector<SumGroup> groups_;
  int ranks_;
  std::span<const std::uint16_t> own_;
  std::vector<std::uint16_t> divided_, sums_;
};

}  // namespace thinpipe
