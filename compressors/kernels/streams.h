// How passes read a tensor: streams, which use more of the memory's bandwidth than one of them;
// lines asked for ahead of their turn; and sums whose order does not depend on the width of the
// vectors.
#pragma once

#include <array>
#include <cstddef>

#include "compressors/kernels/parallel.h"

namespace thinpipe {

// Asking for what a pass will come to: the prefetchers of CPUs stop at the end of a page, and
// passes that compute much an element do not keep enough reads under way by themselves.

/// How many elements before their turn a line is asked for: four pages of them.
constexpr std::size_t kFarAhead = 4096;

/// Asks for the cache line of x[kFarAhead], which need not exist, into the second-level cache:
/// there the first level's few buffers for misses do not wait with it. Inlined always: GCC takes a
/// function that does nothing else for one without effect, and drops calls of it.
[[gnu::always_inline]] inline void ask_far_ahead(const void* x) {
  constexpr int kSecondLevel = 2;
  __builtin_prefetch(static_cast<const char*>(x) + kFarAhead * sizeof(float), 0, kSecondLevel);
}

constexpr std::size_t kStreams = 4;
/// Elements of a stream's row, each with a sum of its own: a cache line, one vector of AVX-512, two
/// of AVX2, four of SSE.
constexpr std::size_t kRowLanes = 16;
constexpr std::size_t kPartials = kStreams * kRowLanes;

/// Asks for the lines of all streams, `stride` elements apart, a page before their turn. Inlined
/// always, as ask_far_ahead().
template <class T>
[[gnu::always_inline]] inline void ask_rows(const T* row, std::size_t stride) {
  constexpr std::size_t kPage = 4096 / sizeof(T);
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    __builtin_prefetch(row + stream * stride + kPage);
  }
}

/// The same where the streams are of a block (add_blocks()): asks for the lines of the next one,
/// into the second-level cache: there the first level's few buffers for misses do not wait with
/// them.
template <class T>
[[gnu::always_inline]] inline void ask_next_block(const T* row, std::size_t stride) {
  constexpr int kSecondLevel = 2;
  for (std::size_t stream = 0; stream < kStreams; ++stream)
    __builtin_prefetch(row + (kStreams + stream) * stride, 0, kSecondLevel);
}

// The order in which the magnitudes of a tensor are added up, on processors and on GPUs.

/// Rows between two flushes into doubles: 128 float additions keep the relative error
/// of a partial sum under 128 * 2^-24 = 8e-6, and far under it in practice.
constexpr std::size_t kMomentRows = 128;
/// Flushes of one block.
constexpr std::size_t kMomentFlushes = 4;
/// Rows of a stream in one block: 32 KiB, as in compact.cc.
constexpr std::size_t kMomentBlockRows = kMomentFlushes * kMomentRows;
constexpr std::size_t kMomentLanes = kRowLanes;
constexpr std::size_t kMomentPartials = kPartials;
constexpr std::size_t kMomentBlock = kStreams * kMomentBlockRows * kRowLanes;
/// Parts with a sum of their own; any number of threads shares them.
constexpr std::size_t kMomentParts = 64;

/// Adds up n elements block by block: by blocks(begin, count, rows, part), neighbours of `rows`
/// rows a stream each, and one(i, part) for the last few. @tparam Part  has join(other)
template <class Part, class Blocks, class One>
Part add_blocks(std::size_t n, Blocks blocks, One one) {
  const std::size_t count = n / kMomentBlock;
  // A block of as many whole rows as are left, then less than a row of each stream.
  const std::size_t begin = count * kMomentBlock;
  const std::size_t rows = (n - begin) / kMomentPartials;
  Part total;
  blocks(begin, rows > 0 ? 1 : 0, rows, total);
  // In a tensor shorter than a block (one of many that THC rotates) parts would dominate the time.
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

}  // namespace thinpipe
