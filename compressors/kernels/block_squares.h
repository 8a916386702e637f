// Sums of squares of many short blocks.
#pragma once

#include <cstddef>
#include <span>

namespace thinpipe {

/// sums[b] = sum_of_squares() (kernels/moments.h) of x's elements from b * block on, `block` of
/// them or as many as are left, to the bit. Several blocks are added up side by side, since the
/// last additions of one wait for each other.
/// @param sums  one for each block
void sums_of_squares(std::span<const float> x, std::size_t block, std::span<double> sums);

}  // namespace thinpipe
