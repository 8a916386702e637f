// Draws independent values from tables, in vectors: the same bits for every instruction set.
#pragma once

#include <span>

#include "compressors/kernels/counter_random.h"
#include "workloads/synthetic/tables.h"

namespace thinpipe {

/// out[i] = scale x the table's value for paired_random(key, i). Runs on the threads of the
/// innermost UseThreads (compressors/kernels/parallel.h).
void draw_values(const QuantileTable& table, float scale, RandomKey key, std::span<float> out);

}  // namespace thinpipe
