// Compares floats by their bits: NaN equals NaN, -0 is not +0.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::testing {

inline std::vector<std::uint32_t> bits(std::span<const float> values) {
  std::vector<std::uint32_t> result;
  for (float value : values) result.push_back(std::bit_cast<std::uint32_t>(value));
  return result;
}

}  // namespace thinpipe::testing
