// Sums of arrays on one rank: what an all-reduce does to two arrays' elements, and what the plan of
// one must end with.
#pragma once

#include <cstddef>
#include <span>

#include "compressors/element_type.h"
#include "workloads/exchange/plans.h"

namespace thinpipe {

/// sums = (a + b) * scale. 16-bit elements are added and multiplied in 32 bits and rounded once,
/// and then every NaN is the same one. All of one size in bytes, aligned as the elements are;
/// `sums` is apart from `b`, and is `a` or apart from it.
void add_elements(ElementType type, std::span<const std::byte> a, std::span<const std::byte> b,
                  float scale, std::span<std::byte> sums);

/// out = a * scale, rounded likewise.
void scale_elements(ElementType type, std::span<const std::byte> a, float scale,
                    std::span<std::byte> out);

/// The all-reduce of a plan carried out by one rank, plainly: what the network must bring.
/// out = factor * the sum of the arrays, by rank, added in the order that the plan has and rounded
/// after every addition as the elements' type is. 16-bit elements are given and returned as floats.
/// Nothing but NaN may differ from what AllReduceFlow ends with.
void sum_by_plan(const AllReducePlanner& planner, ElementType type,
                 std::span<const std::span<const float>> arrays, float factor,
                 std::span<float> out);

}  // namespace thinpipe
