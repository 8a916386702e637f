// Streams in which statistics read a tensor: more of the memory's bandwidth than one of them uses,
// and sums whose order does not depend on the width of the vectors.
#pragma once

#include <cstddef>

namespace thinpipe {

constexpr std::size_t kStreams = 4;
/// Elements of a stream's row, each with a sum of its own: a cache line, one vector of AVX-512, two
/// of AVX2, four of SSE.
constexpr std::size_t kRowLanes = 16;
constexpr std::size_t kPartials = kStreams * kRowLanes;

/// Asks for the lines of all streams, `stride` elements apart, a page before their turn. Inlined
/// always, as kernels/ahead.h.
template <class T>
[[gnu::always_inline]] inline void ask_rows(const T* row, std::size_t stride) {
  constexpr std::size_t kPage = 4096 / sizeof(T);
  for (std::size_t stream = 0; stream < kStreams; ++stream) {
    __builtin_prefetch(row + stream * stride + kPage);
  }
}

/// The same where the streams are of a block (add_blocks.h): asks for the lines of the next one,
/// into the second-level cache: there the first level's few buffers for misses do not wait with
/// them.
template <class T>
[[gnu::always_inline]] inline void ask_next_block(const T* row, std::size_t stride) {
  constexpr int kSecondLevel = 2;
  for (std::size_t stream = 0; stream < kStreams; ++stream)
    __builtin_prefetch(row + (kStreams + stream) * stride, 0, kSecondLevel);
}

}  // namespace thinpipe
