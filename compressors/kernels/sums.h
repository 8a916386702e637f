// Sums and statistics of a tensor, each in one pass, with the same bits on every machine and any
// number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "base/both.h"

namespace thinpipe {

/// A sum that is still to be computed: r[i] = decay * r[i] + scale * g[i] for i < n, rounded as
/// accumulate() rounds. The first pass that reads the sum computes and stores it, which saves a
/// pass.
struct PendingSum {
  const float* g = nullptr;
  float* r = nullptr;
  std::size_t n = 0;
  float decay = 1;
  float scale = 1;

  float at(std::size_t i) const {
    if (decay == 1.0F && scale == 1.0F) return canonical(r[i] + g[i]);
    const float kept = decay * r[i];
    const float fresh = scale * g[i];
    return canonical(kept + fresh);
  }
  /// Computes and stores elements [begin, end).
  void compute(std::size_t begin, std::size_t end) const;
};

// Memory updates. All spans have the same length and do not overlap. Products are rounded before
// they are added (no fused multiply-add), and a sum that is a NaN has the bits kNanBits
// (base/both.h), so that every machine and GPU computes the same bits.

/// Computes r = decay * r + scale * g.
void accumulate(std::span<const float> g, float decay, float scale, std::span<float> r);
inline void PendingSum::compute(std::size_t begin, std::size_t end) const {
  accumulate({g + begin, end - begin}, decay, scale, {r + begin, end - begin});
}

/// Computes u = momentum * u + scale * g;  v = v + u  (Deep Gradient Compression, eq. 7).
void accumulate_momentum(std::span<const float> g, float momentum, float scale, std::span<float> u,
                         std::span<float> v);

/// Computes u = momentum * (u + scale * g);  v = v + u + scale * g  (Deep Gradient Compression,
/// eq. 10).
void accumulate_nesterov(std::span<const float> g, float momentum, float scale, std::span<float> u,
                         std::span<float> v);

/// Computes out += factor * x.
void add_scaled(std::span<const float> x, float factor, std::span<float> out);

// Statistics. If `sum` is not null, x must be its array r. The function then computes and stores r
// block by block, and reads each block while it is in the second-level cache.

/// Returns the greatest |x| by bits (NaN > infinity > finite); 0 when empty.
float max_magnitude(std::span<const float> x);

struct Moments {
  double sum_magnitude = 0;  ///< sum of |x|
  float max_magnitude = 0;   ///< by the bits of |x|: NaN > infinity > finite; 0 when empty
};

/// Returns the moments of x. Every few thousand elements, 64 fixed partial sums in float are added
/// to doubles; the doubles are added to one sum for every 1/64 of the tensor. The order of these
/// additions does not depend on the width of the vectors or the number of threads, so results do
/// not depend on the machine.
Moments magnitude_moments(std::span<const float> x, const PendingSum* sum = nullptr);

/// Moments of the elements that reach a limit.
struct TailMoments {
  double sum_magnitude = 0;  ///< sum of |x| over magnitude keys >= the limit
  std::size_t count = 0;
};

/// Returns sums over elements with key_of(x, KeyOrder::kMagnitude) >= limit, as in
/// magnitude_moments().
/// @param read  if not empty, is called for consecutive ranges [begin, end) that together are x. A
///   range is then in the caches, except the last one. The pass runs on one thread
TailMoments tail_moments(std::span<const float> x, std::int32_t limit,
                         const std::function<void(std::size_t begin, std::size_t end)>& read = {});

/// Returns the sum of x^2, in the same order, all in double.
double sum_of_squares(std::span<const float> x);

/// Sets sums[b] to sum_of_squares() of block b of x, to the bit. Block b has the elements from b *
/// block on: `block` of them, or as many as are left. Several blocks are summed side by side,
/// because the last additions of a single block wait for each other.
/// @param sums  one for each block
void sums_of_squares(std::span<const float> x, std::size_t block, std::span<double> sums);

/// Mean and variance.
struct Dispersion {
  double sum = 0;
  double squares = 0;  ///< sum of x^2
  std::size_t count = 0;

  THINPIPE_BOTH double mean() const { return sum / static_cast<double>(count); }
  /// Returns the population variance (divided by the count); never negative.
  THINPIPE_BOTH double variance() const {
    const double difference = squares / static_cast<double>(count) - mean() * mean();
    return difference < 0 ? 0 : difference;
  }
};

/// Returns the dispersion of the values, or of their magnitudes. Partial sums are in double, so
/// that the squares of huge values do not overflow and those of denormals do not vanish. Their
/// order is that of streams.h.
Dispersion signed_dispersion(std::span<const float> x, const PendingSum* sum = nullptr);
Dispersion magnitude_dispersion(std::span<const float> x, const PendingSum* sum = nullptr);

struct Spread : Dispersion {
  float max_magnitude = 0;  ///< by bits: NaN > infinity > finite; 0 when empty
};
/// Returns the dispersion of the values, with the greatest magnitude in the same pass.
Spread signed_spread(std::span<const float> x);

/// Sums of the magnitudes and of their logarithms.
struct LogMoments {
  double sum_magnitude = 0;  ///< sum of |x|
  double sum_log = 0;        ///< sum of ln |x| over the elements that are not 0
  std::size_t nonzero = 0;
};

/// Returns the sums of the magnitudes and of their logarithms. The sum of logarithms is computed as
/// the logarithm of a product. Exponents are summed as integers, and mantissas, each in [1, 2), are
/// multiplied: 64 of them in float before their product is multiplied into a double. No element's
/// logarithm is computed, and all machines get the same bits. Every product is rounded once, with a
/// relative error of at most 2^-24, so that the mean of the logarithms is within 2^-24 = 6e-8 of
/// the exact mean. NaN and infinity give a meaningless result.
LogMoments log_moments(std::span<const float> x, const PendingSum* sum = nullptr);

constexpr std::size_t kAllFinite = static_cast<std::size_t>(-1);

/// Returns the index of the first NaN or infinity of x, or kAllFinite.
std::size_t first_non_finite(std::span<const float> x);

// The sum of a selection's values, in an order that a GPU's threads can keep too.

/// Values per block.
constexpr std::size_t kValueBlock = 32768;
/// Partial sums of a block: value i of the block is added to partial sum i modulo kValueLanes.
/// Partial sum j is then added to sum j modulo kValueParts.
constexpr std::size_t kValueLanes = 512;
/// Number of these sums, and of the parts into which all blocks are divided, each with its own sum.
constexpr std::size_t kValueParts = 64;

namespace value_sum {

inline double total(const double (&sums)[kValueParts]) {
  double sum = 0;
  for (double part : sums) sum += part;
  return sum;
}

template <class Value>
double of_block(std::size_t begin, std::size_t end, Value value) {
  double lanes[kValueLanes] = {};
  for (std::size_t i = begin; i < end; ++i) lanes[(i - begin) % kValueLanes] += value(i);
  double sums[kValueParts] = {};
  for (std::size_t i = 0; i < kValueLanes; ++i) sums[i % kValueParts] += lanes[i];
  return total(sums);
}

}  // namespace value_sum

/// Returns the sum of value(i) over [0, n), in double.
template <class Value>
double sum_of_values(std::size_t n, Value value) {
  const std::size_t blocks = (n + kValueBlock - 1) / kValueBlock;
  double sums[kValueParts] = {};
  for (std::size_t part = 0; part < kValueParts; ++part) {
    for (std::size_t i = blocks * part / kValueParts; i < blocks * (part + 1) / kValueParts; ++i) {
      const std::size_t end = n - i * kValueBlock < kValueBlock ? n : (i + 1) * kValueBlock;
      sums[part] += value_sum::of_block(i * kValueBlock, end, value);
    }
  }
  return value_sum::total(sums);
}

}  // namespace thinpipe
