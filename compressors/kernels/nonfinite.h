// Looks for NaN and infinities.
#pragma once

#include <cstddef>
#include <span>

namespace thinpipe {

constexpr std::size_t kAllFinite = static_cast<std::size_t>(-1);

/// Index of the first NaN or infinity of x, or kAllFinite.
std::size_t first_non_finite(std::span<const float> x);

}  // namespace thinpipe
