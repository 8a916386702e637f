// The order in which passes read a tensor: in several streams, which use more of the memory
// bandwidth than one; with prefetched cache lines; and with sums whose order does not depend on the
// width of the vectors.
#pragma once

#include <array>
#include <cstddef>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/sums.h"

namespace thinpipe {

// Prefetching: the hardware prefetchers of CPUs stop at the end of a page, and passes with much
// arithmetic per element do not keep enough reads outstanding on their own.

/// Distance of a prefetch in elements: four pages.
constexpr std::size_t kFarAhead = 4096;

/// Prefetches the cache line of x[kFarAhead], which need not exist, into the second-level cache, so
/// that it does not occupy the first level's few buffers for misses. Always inlined: GCC regards a
/// function that only prefetches as one without effect, and drops calls of it.
[[gnu::always_inline]] inline void ask_far_ahead(const void* x) {
  constexpr int kSecondLevel = 2;
  __builtin_prefetch(static_cast<const char*>(x) + kFarAhead * sizeof(float), 0, kSecondLevel);
}

constexpr std::size_t kStreams = 4;
/// Elements of a stream's row, each with a sum of its own: a cache line, one vector of AVX-512, two
/// of AVX2, four of SSE.
constexpr std::size_t kRowLanes = 16;
constexpr std::size_t kPartials = kStreams * kRowLanes;

/// Prefetches the lines of all streams, `stride` elements apart, one page ahead. Always inlined, as
/// ask_far_ahead().
template <class T>
[[gnu::always_inline]] inline void ask_rows(const T* row, std::size_t stride) {
  constexpr std::size_t kPage = 4096 / sizeof(T);
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    __builtin_prefetch(row + stream * stride + kPage);
  }
}

/// Prefetches the lines of the next block (add_blocks()) that correspond to this row of this block.
/// The next block's streams follow this block's in memory. The lines go to the second-level cache,
/// so that they do not occupy the first level's few buffers for misses.
template <class T>
[[gnu::always_inline]] inline void ask_next_block(const T* row, std::size_t stride) {
  constexpr int kSecondLevel = 2;
  for (std::size_t stream = 0; stream < kStreams; ++stream)
    __builtin_prefetch(row + (kStreams + stream) * stride, 0, kSecondLevel);
}

// The order in which the magnitudes of a tensor are summed, on CPUs and on GPUs.

/// Rows between two flushes into doubles: 128 float additions keep the relative error of a partial
/// sum under 128 * 2^-24 = 8e-6, and far under it in practice.
constexpr std::size_t kMomentRows = 128;
/// Flushes per block.
constexpr std::size_t kMomentFlushes = 4;
/// Rows of a stream in one block: 32 KiB.
constexpr std::size_t kMomentBlockRows = kMomentFlushes * kMomentRows;
constexpr std::size_t kMomentLanes = kRowLanes;
constexpr std::size_t kMomentPartials = kPartials;
constexpr std::size_t kMomentBlock = kStreams * kMomentBlockRows * kRowLanes;
/// Parts of a tensor, each with a sum of its own. Any number of threads shares the parts.
constexpr std::size_t kMomentParts = 64;

/// Returns the sum over n elements, block by block. blocks(begin, count, rows, part) adds `count`
/// consecutive blocks with `rows` rows per stream to `part`, from element `begin` on. one(i, part)
/// adds element i, one of the last few.
/// @tparam Part  has join(other)
template <class Part, class Blocks, class One>
Part add_blocks(std::size_t n, Blocks blocks, One one) {
  const std::size_t count = n / kMomentBlock;
  // One block of the remaining whole rows, then less than a row of each stream.
  const std::size_t begin = count * kMomentBlock;
  const std::size_t rows = (n - begin) / kMomentPartials;
  Part total;
  blocks(begin, rows > 0 ? 1 : 0, rows, total);
  // A tensor shorter than a block, for example one of the many short blocks that THC rotates, skips
  // the parts, because they would dominate the time.
  if (count > 0) {
    std::array<Part, kMomentParts> parts;
    parallel_parts(kMomentParts, threads_for(n), [&](std::size_t part) {
      const std::size_t from = count * part / kMomentParts;
      blocks(from * kMomentBlock, count * (part + 1) / kMomentParts - from, kMomentBlockRows,
             parts[part]);
    });
    for (const Part& part : parts) total.join(part);
  }
  for (std::size_t i = begin + rows * kMomentPartials; i < n; ++i) one(i, total);
  return total;
}

/// Returns add_blocks() of block(begin, rows, part), which adds one block, and one(i, part). If
/// `sum` is not null, its elements are computed just before they are added.
template <class Part, class Block, class One>
Part add_blocks_of(std::size_t n, const PendingSum* sum, Block block, One one) {
  return add_blocks<Part>(
      n,
      [&](std::size_t begin, std::size_t blocks, std::size_t rows, Part& part) {
        for (; blocks > 0; --blocks, begin += kMomentBlock) {
          if (sum != nullptr) sum->compute(begin, begin + rows * kPartials);
          block(begin, rows, part);
        }
      },
      [&](std::size_t i, Part& part) {
        if (sum != nullptr) sum->r[i] = sum->at(i);
        one(i, part);
      });
}

}  // namespace thinpipe
