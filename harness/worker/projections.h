// A short message that stands for a long array: what ranks on different machines tell of their
// contributions, so that the aggregate can be held against them without crossing the network again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

namespace thinpipe {

/// Elements that one sum stands for: few, so that the rounding of single-precision sums, which adds
/// up over a block, stays well below what an error of one element does.
inline constexpr std::size_t kProjectedBlock = 1024;

/// One number for each block of up to kProjectedBlock elements: the sum of value times weight in
/// double precision. Weights are 0.5 to 1.5 with either sign, drawn from `seed` and the element's
/// place: the same on every machine. Linear: the mean of several ranks' projections is the
/// projection of their mean, and an error e in one element changes its block's by 0.5 e to 1.5 e.
/// Errors in several elements cancel by a chance of about one in a million.
std::vector<double> project(std::span<const float> values, std::uint64_t seed);

/// What rank answers told: `contributions[rank]` the projections of what each sent, piece by piece;
/// `results[rank]` those of what each ended with, and `largest[rank]` max |value| of each piece.
/// @returns the greatest |result - mean of contributions| of a block over max |value| of its piece
/// (undivided where that is 0); infinity where a number is missing or not finite.
double projected_error(const std::vector<nlohmann::json>& contributions,
                       const std::vector<nlohmann::json>& results,
                       const std::vector<nlohmann::json>& largest);

}  // namespace thinpipe
