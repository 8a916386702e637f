// Ranks of a sample, equal values sharing theirs.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace thinpipe {

/// Twice the rank of each value, in its place; the smallest has rank 1. Equal values have the mean
/// of their ranks, which twice is a whole number.
std::vector<std::size_t> doubled_ranks(std::span<const double> values);

}  // namespace thinpipe
