// Draws values from tables, in vectors: the same bits for every instruction set.
#pragma once

#include <span>

#include "compressors/kernels/counter_random.h"
#include "workloads/synthetic/tables.h"

namespace thinpipe {

/// out[i] = scale x the table's value for paired_random(key, i). Runs on the threads of the
/// innermost UseThreads (compressors/kernels/parallel.h).
void draw_values(const QuantileTable& table, float scale, RandomKey key, std::span<float> out);

/// One step of normal numbers that depend on those of the step before and of other workers.
struct NormalStep {
  RandomKey own = {};       ///< of this worker's innovations
  RandomKey common = {};    ///< of those that all workers share
  float keep = 0;           ///< of the number before
  float own_weight = 1;     ///< of a standard normal innovation
  float common_weight = 0;  ///< likewise; not drawn where this is 0
};

/// z[i] = keep z[i] + own_weight e_own[i] + common_weight e_common[i].
/// @param normal  the table of the standard normal distribution
void step_normals(const QuantileTable& normal, const NormalStep& step, std::span<float> z);

/// The same, and out[i] = scale x the table's value for the new z[i], in one pass.
/// @param z  may be empty where step.keep is 0: the numbers are then not kept
void step_values(const QuantileTable& normal, const NormalStep& step, const CopulaTable& table,
                 float scale, std::span<float> z, std::span<float> out);

/// out[i] = scale x the table's value for z[i].
void map_normals(const CopulaTable& table, float scale, std::span<const float> z,
                 std::span<float> out);

}  // namespace thinpipe
