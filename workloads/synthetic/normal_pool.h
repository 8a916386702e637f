// Normal numbers as sums of windows at random positions of one small pool.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thinpipe {

/// Generates normal random numbers in rows of 32 elements. Element i of a row is a(i) + b(i) -
/// c(i). The windows a, b and c are 32 consecutive numbers of the pool, each from a random
/// position. Wallace (1996, "Fast pseudorandom generators for normal and exponential variates")
/// likewise sums existing normal numbers. A window costs one load and 13 random bits for 32
/// elements.
///
/// The pool contains the rounded quantiles of the normal distribution, with both signs equally
/// often. In its order, numbers up to 31 positions apart are uncorrelated. The elements of a row
/// are therefore uncorrelated, too, and rows are independent. Every element has the distribution of
/// a sum of three independent pool numbers (the threefold convolution of the pool's distribution).
class NormalPool {
 public:
  static constexpr std::size_t kRow = 32;
  static constexpr int kPlaceBits = 13;
  static constexpr std::size_t kSize = std::size_t{1} << kPlaceBits;

  NormalPool();

  /// Returns kSize numbers, followed by a copy of the first kRow - 1.
  const std::int16_t* data() const { return values_.data(); }
  /// Returns the standard deviation of a sum of three numbers.
  double sigma() const { return sigma_; }
  /// Returns the cyclic correlation of numbers `lag` < kRow positions apart.
  double correlation(std::size_t lag) const;

 private:
  std::vector<std::int16_t> values_;
  double sigma_ = 0;
};

/// Returns the pool of all latents.
const NormalPool& normal_pool();

}  // namespace thinpipe
