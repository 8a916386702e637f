// Compares floats by their bits: NaN equals NaN, -0 is not +0.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe::testing {

inline std::vector<std::uint32_t> bits(std::span<const float> values) {
  std::vector<std::uint32_t> result(values.size());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i] = std::bit_cast<std::uint32_t>(values[i]);
  }
  return result;
}

}  // namespace thinpipe::testing
