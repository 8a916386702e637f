// Vectorised draws of values from tables, with the same bits for every instruction set: independent
// values, and values from latent normal numbers that correlate over steps and workers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/random.h"
#include "workloads/synthetic/normal_pool.h"
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

/// One step of latents. Latents are integers z, normal with the standard deviation
/// CopulaTable::kSigma / 65536. A step replaces z by
///
///     keep z + own_weight e_own + common_weight e_common
///
/// with innovations e from the normal pool; every product is rounded to the nearest integer.
class LatentStep {
 public:
  /// @param own, common  random streams (random_stream()) of this worker's innovations and of the
  ///        innovations that all workers share
  /// @param keep  factor of the previous latents, in [0, 1): 0 in the first step
  /// @param share  fraction in [0, 1] of the innovations' variance that is common; common
  ///        innovations are not drawn if this is 0
  LatentStep(std::uint64_t own, std::uint64_t common, std::size_t step, double keep, double share);

  RandomKey own, common;  ///< of this step
  /// Weights in units of 2^-15.
  std::int16_t keep, own_weight, common_weight;
};

/// Returns the number of latents to allocate for a tensor: whole rows.
constexpr std::size_t latent_count(std::size_t elements) {
  return (elements + NormalPool::kRow - 1) / NormalPool::kRow * NormalPool::kRow;
}

/// Advances the latents by one step. @param z  latent_count(elements) latents
void step_latents(const LatentStep& step, std::span<std::int16_t> z);

/// Advances the latents by one step and sets out[i] to scale times the table's value for the
/// element's latent, in one pass. Runs on the threads of the innermost UseThreads.
/// @param z  latent_count(out.size()) latents. If step.keep is 0, `z` may be empty, and the latents
/// are then not stored
void step_values(const LatentStep& step, const CopulaTable& table, float scale,
                 std::span<std::int16_t> z, std::span<float> out);

}  // namespace thinpipe
