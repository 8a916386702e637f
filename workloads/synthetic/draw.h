// Draws independent values from tables, in vectors: the same bits for every instruction set.
// Whether values are written past the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/random.h"
#include "workloads/synthetic/tables.h"

namespace thinpipe {

/// out[i] = scale x the table's value for paired_random(key, i). Runs on the threads of the
/// innermost UseThreads (compressors/kernels/parallel.h).
void draw_values(const QuantileTable& table, float scale, RandomKey key, std::span<float> out);

/// More than the caches near one core keep until somebody reads it: written through them, every
/// line would be fetched first and others thrown out for it, which takes longer than the drawing.
constexpr std::size_t kStreamedBytes = std::size_t{8} << 20;

/// Streaming stores need whole vectors' alignment; rows of values are whole lines.
inline bool is_streamed(std::span<const float> out) {
  constexpr std::uintptr_t kLine = 64;
  return out.size_bytes() >= kStreamedBytes &&
         reinterpret_cast<std::uintptr_t>(out.data()) % kLine == 0;
}

}  // namespace thinpipe
