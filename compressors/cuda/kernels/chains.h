// Sums of small buckets, each of which several threads add up in a fixed order.
#pragma once

#include <cstdint>

#include "base/both.h"
#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// Threads that add up a bucket.
constexpr std::uint32_t kChains = 64;
/// Maximum elements of a bucket that one thread block holds as a whole.
constexpr std::uint32_t kMaxBucket = kTile;
/// Maximum buckets per thread block; tiles of small buckets have fewer elements.
constexpr std::uint32_t kMaxBuckets = kTile / 32;

/// Returns the elements of a tile of whole buckets. Buckets larger than kMaxBucket span several
/// tiles.
/// @param bucket  elements; 0: no buckets
THINPIPE_BOTH constexpr std::uint32_t tile_of_buckets(std::uint32_t bucket) {
  if (bucket == 0) return kTile;
  if (bucket > kMaxBucket) return kTile;
  const std::uint32_t some = kTile / bucket;
  return (some < kMaxBuckets ? some : kMaxBuckets) * bucket;
}

/// Computes 64 partial sums of each bucket of a tile in 64 threads. One thread per bucket then
/// joins the bucket's partial sums by then(bucket, values, elements, partials).
/// @param partials  shared memory for the buckets that a thread block adds up at a time
/// @param code  code.chain(values, elements, which) returns one partial sum
template <class Partial, int kThreads>
THINPIPE_KERNEL void add_chains(auto& block, Partial (&partials)[kThreads], const float* values,
                                std::uint32_t elements, std::uint32_t bucket, const auto& code,
                                auto then) {
  constexpr std::uint32_t kAtOnce = kThreads / kChains;
  const std::uint32_t buckets = (elements + bucket - 1) / bucket;
  const auto size_of = [&](std::uint32_t at) {
    return elements - at * bucket < bucket ? elements - at * bucket : bucket;
  };
  for (std::uint32_t first = 0; first < buckets; first += kAtOnce) {
    block.each([&](int t) {
      const std::uint32_t at = first + static_cast<std::uint32_t>(t) / kChains;
      if (at >= buckets) return;
      partials[t] =
          code.chain(values + at * bucket, size_of(at), static_cast<std::uint32_t>(t) % kChains);
    });
    block.each([&](int t) {
      const std::uint32_t at = first + static_cast<std::uint32_t>(t);
      if (static_cast<std::uint32_t>(t) >= kAtOnce || at >= buckets) return;
      then(at, values + at * bucket, size_of(at), partials + t * kChains);
    });
  }
}

/// Sums of squares in double, added in the order of sum_of_squares(). The order is the same only if
/// a bucket has fewer elements than 128 rows in each of the four streams of a block of
/// sum_of_squares().
struct SquareChains {
  THINPIPE_BOTH static double chain(const float* x, std::uint32_t n, std::uint32_t which) {
    constexpr std::uint32_t kLanes = 16;
    const std::uint32_t rows = n / kChains;
    const float* const stream = x + which / kLanes * (rows * kLanes) + which % kLanes;
    double sum = 0;
    for (std::uint32_t row = 0; row < rows; ++row) {
      const auto value = static_cast<double>(stream[row * kLanes]);
      sum += value * value;
    }
    return sum;
  }
  THINPIPE_BOTH static double join(const float* x, std::uint32_t n, const double* partials) {
    double sum = 0;
    for (std::uint32_t i = 0; i < kChains; ++i) sum += partials[i];
    return join_rest(x, n, sum);
  }
  THINPIPE_BOTH static double join_rest(const float* x, std::uint32_t n, double sum) {
    for (std::uint32_t i = n / kChains * kChains; i < n; ++i)
      sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    return sum;
  }
};

}  // namespace thinpipe::cuda
