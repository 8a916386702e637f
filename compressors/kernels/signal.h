// Input of a selector: the gradient plus the memory, computed at the first pass over it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/select.h"
#include "compressors/kernels/sums.h"

namespace thinpipe {

/// c, d elements. Where it is a sum still to be done, the first pass does it on the way: one pass
/// over the data saved (12 bytes an element moved in place of 16).
class Signal {
 public:
  /// c lies there.
  Signal(std::span<const float> c) : c_(c) {}  // NOLINT(google-explicit-constructor)
  /// c = decay * r + scale * g, to be left in r.
  explicit Signal(const PendingSum& sum) : c_(sum.r, sum.n), sum_(sum), pending_(true) {}

  std::size_t size() const { return c_.size(); }
  /// One element, before or after the first pass.
  float at(std::size_t i) const { return pending_ ? sum_.at(i) : c_[i]; }

  /// Asks for the element's cache lines, for at(): into the second-level cache, which has more
  /// buffers for what is under way than the first.
  void prefetch(std::size_t i) const {
    constexpr int kSecondLevel = 2;
    __builtin_prefetch(c_.data() + i, 0, kSecondLevel);
    if (pending_) __builtin_prefetch(sum_.g + i, 0, kSecondLevel);
  }

  /// All elements, in memory.
  std::span<const float> values() {
    if (pending_) {
      accumulate({sum_.g, sum_.n}, sum_.decay, sum_.scale, {sum_.r, sum_.n});
      pending_ = false;
    }
    return c_;
  }
  /// magnitude_moments()
  Moments moments() {
    if (!pending_) return magnitude_moments(c_);
    pending_ = false;
    fused_ = true;
    return moments_of_sum(sum_);
  }
  /// The greatest magnitude, as in Moments.
  float max_magnitude() { return pending_ ? moments().max_magnitude : thinpipe::max_magnitude(c_); }
  /// The sum, which the caller does now; null where it is done.
  const PendingSum* take_sum() {
    if (!pending_) return nullptr;
    pending_ = false;
    fused_ = true;
    return &sum_;
  }
  /// compact() by magnitude
  std::size_t compact(std::int32_t limit, std::uint32_t* positions, float* values) {
    if (!pending_) return thinpipe::compact(c_, KeyOrder::kMagnitude, limit, positions, values);
    pending_ = false;
    fused_ = true;
    return compact_sum(sum_, limit, positions, values);
  }
  /// True when the sum was done within another pass.
  bool fused() const { return fused_; }

 private:
  std::span<const float> c_;
  PendingSum sum_;
  bool pending_ = false;
  bool fused_ = false;
};

}  // namespace thinpipe
