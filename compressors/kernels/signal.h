// Input of a selector: the gradient plus the memory, computed in the first pass over it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/select.h"
#include "compressors/kernels/sums.h"

namespace thinpipe {

/// The input c of a selector, of d elements. If c is a sum that is still to be computed, the first
/// pass over c computes it as well. This saves one pass over the data: 12 bytes per element are
/// moved instead of 16.
class Signal {
 public:
  /// Wraps c, which is in memory.
  Signal(std::span<const float> c) : c_(c) {}  // NOLINT(google-explicit-constructor)
  /// Wraps a sum still to be computed: c = decay * r + scale * g, to be stored in r.
  explicit Signal(const PendingSum& sum) : c_(sum.r, sum.n), sum_(sum), pending_(true) {}

  std::size_t size() const { return c_.size(); }
  /// Returns one element, before or after the first pass.
  float at(std::size_t i) const { return pending_ ? sum_.at(i) : c_[i]; }

  /// Prefetches the element's cache lines for a later at(). The lines go to the second-level cache,
  /// which has more buffers for outstanding misses than the first-level cache.
  void prefetch(std::size_t i) const {
    constexpr int kSecondLevel = 2;
    __builtin_prefetch(c_.data() + i, 0, kSecondLevel);
    if (pending_) __builtin_prefetch(sum_.g + i, 0, kSecondLevel);
  }

  /// Returns all elements, in memory.
  std::span<const float> values() {
    if (pending_) {
      sum_.compute(0, sum_.n);
      pending_ = false;
    }
    return c_;
  }
  /// Returns statistics of all elements.
  Moments moments() { return magnitude_moments(c_, take_sum()); }
  Dispersion signed_dispersion() { return thinpipe::signed_dispersion(c_, take_sum()); }
  Dispersion magnitude_dispersion() { return thinpipe::magnitude_dispersion(c_, take_sum()); }
  LogMoments log_moments() { return thinpipe::log_moments(c_, take_sum()); }
  /// Returns the greatest magnitude, as in Moments.
  float max_magnitude() { return pending_ ? moments().max_magnitude : thinpipe::max_magnitude(c_); }
  /// Returns the sum, which the caller then computes; null where it is computed already.
  const PendingSum* take_sum() {
    if (!pending_) return nullptr;
    pending_ = false;
    fused_ = true;
    return &sum_;
  }
  /// Calls compact() by magnitude.
  std::size_t compact(std::int32_t limit, std::uint32_t* positions, float* values) {
    const PendingSum* const sum = take_sum();
    return sum == nullptr ? thinpipe::compact(c_, KeyOrder::kMagnitude, limit, positions, values)
                          : compact_sum(*sum, limit, positions, values);
  }
  /// Calls thinpipe::choose_unambiguous().
  std::size_t choose_unambiguous(std::span<const float> q, const AmbiguityOptions& options,
                                 std::span<float> v, std::uint32_t* positions, float* values,
                                 float* variances) {
    return thinpipe::choose_unambiguous(c_, q, options, v, positions, values, variances,
                                        take_sum());
  }
  /// Returns true when the sum was computed within another pass.
  bool fused() const { return fused_; }

 private:
  std::span<const float> c_;
  PendingSum sum_;
  bool pending_ = false;
  bool fused_ = false;
};

}  // namespace thinpipe
