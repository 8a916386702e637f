// Sums of buckets of a few elements, each of which several threads add up in an order of its own.
#pragma once

#include <cstdint>

#include "base/both.h"
#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// Threads that add up a bucket.
constexpr std::uint32_t kChains = 64;
/// Elements of a bucket that a block of threads has all of.
constexpr std::uint32_t kGreatestBucket = kTile;
/// Buckets that a block of threads has at most; of small ones its tile is smaller.
constexpr std::uint32_t kMostBuckets = kTile / 32;

/// Elements of a tile of whole buckets. @param bucket  elements; 0: there are none; of greater ones
/// than that many tiles have a part
THINPIPE_BOTH constexpr std::uint32_t tile_of_buckets(std::uint32_t bucket) {
  if (bucket == 0) return kTile;
  if (bucket > kGreatestBucket) return kTile;
  const std::uint32_t some = kTile / bucket;
  return (some < kMostBuckets ? some : kMostBuckets) * bucket;
}

/// Room for the sums of as many buckets as a block of threads adds up at a time.
template <class Partial, int kThreads>
struct ChainRoom {
  Partial partial[kThreads];
};

/// Computes 64 partial sums of each bucket of a tile by 64 threads, one of which joins them:
/// then(bucket, partials). @param chain  chain(values, elements, which) makes a partial
template <class Block, class Partial, int kThreads, class Chain, class Then>
THINPIPE_KERNEL void add_chains(Block& block, ChainRoom<Partial, kThreads>& room,
                                const float* values, std::uint32_t elements, std::uint32_t bucket,
                                Chain chain, Then then) {
  constexpr std::uint32_t kAtOnce = kThreads / kChains;
  const std::uint32_t buckets = (elements + bucket - 1) / bucket;
  const auto size_of = [&](std::uint32_t at) {
    return elements - at * bucket < bucket ? elements - at * bucket : bucket;
  };
  for (std::uint32_t first = 0; first < buckets; first += kAtOnce) {
    block.each([&](int t) {
      const std::uint32_t at = first + static_cast<std::uint32_t>(t) / kChains;
      if (at >= buckets) return;
      room.partial[t] =
          chain(values + at * bucket, size_of(at), static_cast<std::uint32_t>(t) % kChains);
    });
    block.each([&](int t) {
      const std::uint32_t at = first + static_cast<std::uint32_t>(t);
      if (static_cast<std::uint32_t>(t) >= kAtOnce || at >= buckets) return;
      then(at, values + at * bucket, size_of(at), room.partial + t * kChains);
    });
  }
}

/// Sums of squares in double as sum_of_squares() adds them up, of less than one of its blocks'
/// first 128 rows of four streams.
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
