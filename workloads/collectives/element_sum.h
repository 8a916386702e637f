// Sums arrays on one rank: adds two arrays, as a step of an all-reduce does, and computes the
// expected result of an all-reduce's plan.
#pragma once

#include <cstddef>
#include <span>

#include "compressors/element_type.h"
#include "workloads/collectives/plans.h"

namespace thinpipe {

/// Computes sums = (a + b) * scale. 16-bit elements are added and multiplied in 32 bits and rounded
/// once, and every NaN becomes the same NaN. All arrays have the same size in bytes and the
/// elements' alignment. `sums` does not overlap `b`, and is `a` or does not overlap it.
void add_elements(ElementType type, std::span<const std::byte> a, std::span<const std::byte> b,
                  float scale, std::span<std::byte> sums);

/// Computes out = a * scale, rounded likewise.
void scale_elements(ElementType type, std::span<const std::byte> a, float scale,
                    std::span<std::byte> out);

/// Computes the expected result of a plan's all-reduce, on one rank.
/// out = factor * the sum of the arrays, by rank, added in the order of the plan and rounded to the
/// elements' type after every addition. 16-bit elements are given and returned as floats. Only NaN
/// values may differ from the result of AllReduceFlow.
void sum_by_plan(const AllReducePlanner& planner, ElementType type,
                 std::span<const std::span<const float>> arrays, float factor,
                 std::span<float> out);

}  // namespace thinpipe
