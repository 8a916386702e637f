// Vectorised draws of independent values from tables, with the same bits for every instruction set.
// Also the choice of streaming stores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/random.h"
#include "workloads/synthetic/tables.h"

namespace thinpipe {

/// Sets out[i] to scale times the table's value for paired_random(key, i). Runs on the threads of
/// the innermost UseThreads (compressors/kernels/parallel.h).
void draw_values(const QuantileTable& table, float scale, RandomKey key, std::span<float> out);

/// Above this size, the caches of one core evict the values before they are read, so streaming
/// stores bypass the caches. Ordinary stores would first fetch every cache line that they write and
/// evict other lines, which takes longer than drawing the values.
constexpr std::size_t kStreamedBytes = std::size_t{8} << 20;

/// Returns whether `out` is written by streaming stores: if it is large and begins at a cache line.
/// Streaming stores need the alignment of whole vectors.
inline bool is_streamed(std::span<const float> out) {
  constexpr std::uintptr_t kLine = 64;
  return out.size_bytes() >= kStreamedBytes &&
         reinterpret_cast<std::uintptr_t>(out.data()) % kLine == 0;
}

}  // namespace thinpipe
