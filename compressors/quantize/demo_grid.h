// How DeMo cuts a tensor into chunks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace thinpipe {

/// A matrix cut into chunks of height x width; those at its edges reach beyond it.
struct DemoGrid {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::size_t height = 1;  ///< a power of two, as the width
  std::size_t width = 1;

  std::size_t across() const { return (columns + width - 1) / width; }
  std::size_t chunks() const { return rows == 0 ? 0 : (rows + height - 1) / height * across(); }
  std::size_t size() const { return height * width; }
  std::size_t coefficients() const { return chunks() * size(); }
};

/// @param chunk  side of a chunk: a power of two
inline DemoGrid demo_grid(std::span<const std::int64_t> shape, std::size_t elements,
                          std::size_t chunk) {
  DemoGrid grid;
  if (elements == 0) return grid;
  const bool matrix = shape.size() >= 2;
  grid.rows = matrix ? static_cast<std::size_t>(shape[0]) : 1;
  grid.columns = elements / grid.rows;
  grid.height = std::min(chunk, std::bit_ceil(grid.rows));
  grid.width = std::min(chunk, std::bit_ceil(grid.columns));
  return grid;
}

}  // namespace thinpipe
