// Normal numbers to add up: windows of one small pool, at random places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thinpipe {

/// A normal number is a(i) + b(i) - c(i), i counting the 32 elements of a row, where a, b and c are
/// windows of the pool that begin at random places: Wallace (1996, "Fast pseudorandom generators
/// for normal and exponential variates") likewise makes normal numbers of sums of others. A window
/// costs a load and 13 random bits for 32 elements.
///
/// The pool holds the normal distribution's quantiles, rounded, either sign equally often, in an
/// order in which neighbours up to 31 places apart do not correlate. So every element has the
/// threefold convolution of that, rows are independent, and elements of a row are uncorrelated.
class NormalPool {
 public:
  static constexpr std::size_t kRow = 32;
  static constexpr int kPlaceBits = 13;
  static constexpr std::size_t kSize = std::size_t{1} << kPlaceBits;

  NormalPool();

  /// kSize numbers, the first kRow - 1 of which come again behind them.
  const std::int16_t* data() const { return values_.data(); }
  /// Standard deviation of a sum of three.
  double sigma() const { return sigma_; }
  /// Correlation of numbers `lag` < kRow places apart, round the end.
  double correlation(std::size_t lag) const;

 private:
  std::vector<std::int16_t> values_;
  double sigma_ = 0;
};

/// The one that all latents are drawn from.
const NormalPool& normal_pool();

}  // namespace thinpipe
