// How alike two gradients are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe {

/// The places of the k largest magnitudes, ascending; equal ones by the lower place. Values that
/// are not finite count as 0. k is cut to the number of elements.
std::vector<std::size_t> top_k_places(std::span<const float> values, std::size_t k);

/// (a . b) / (|a| |b|), in double; NaN where one is all zero. Values that are not finite count as
/// 0.
double cosine_of(std::span<const float> a, std::span<const float> b);

/// The share of a's places that are b's too; both ascending and as many. NaN where there are none.
double overlap_of(std::span<const std::size_t> a, std::span<const std::size_t> b);

}  // namespace thinpipe
