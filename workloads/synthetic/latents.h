// Normal numbers that depend on those of the step before and of other workers, and values of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/random.h"
#include "workloads/synthetic/normal_pool.h"
#include "workloads/synthetic/tables.h"

namespace thinpipe {

/// One step of latents: whole numbers z, normal with the standard deviation CopulaTable::kSigma /
/// 65536, that become
///
///     keep z + own_weight e_own + common_weight e_common
///
/// every product rounded to the nearest, with innovations e of the normal pool.
class LatentStep {
 public:
  /// @param own, common  random streams (random_stream()) of this worker's innovations, and of
  ///        those that all workers share
  /// @param keep  the part of the numbers before, in [0, 1): 0 in the first step
  /// @param share  in [0, 1], of the innovations' variance that is common; the common ones are not
  ///        drawn where this is 0
  LatentStep(std::uint64_t own, std::uint64_t common, std::size_t step, double keep, double share);

  RandomKey own, common;  ///< of this step
  /// In units of 2^-15.
  std::int16_t keep, own_weight, common_weight;
};

/// Latents that a tensor needs room for: whole rows.
constexpr std::size_t latent_count(std::size_t elements) {
  return (elements + NormalPool::kRow - 1) / NormalPool::kRow * NormalPool::kRow;
}

/// Makes the step. @param z  latent_count(elements) of them
void step_latents(const LatentStep& step, std::span<std::int16_t> z);

/// The same, and out[i] = scale x the table's value, in one pass. Runs on the threads of the
/// innermost UseThreads.
/// @param z  latent_count(out.size()) of them; may be empty where step.keep is 0: the numbers are
///        then not kept
void step_values(const LatentStep& step, const CopulaTable& table, float scale,
                 std::span<std::int16_t> z, std::span<float> out);

}  // namespace thinpipe
