// Division of a tensor into consecutive chunks (select/chunked_top_k.h).
#pragma once

#include <cstdint>

#include "base/both.h"

namespace thinpipe::cuda {

struct ChunkLayout {
  std::uint32_t n = 0;  ///< elements of the tensor
  std::uint32_t bits =
      0;                ///< of a position in a chunk: chunks have 2^bits elements, the last fewer
  std::uint32_t k = 0;  ///< elements selected per chunk; all of a smaller chunk

  THINPIPE_BOTH std::uint32_t size() const { return std::uint32_t{1} << bits; }
  THINPIPE_BOTH std::uint32_t chunks() const { return n == 0 ? 0 : ((n - 1) >> bits) + 1; }
  /// Returns the number of elements chosen from a chunk of `elements` elements.
  THINPIPE_BOTH std::uint32_t most_of(std::uint32_t elements) const {
    return k < elements ? k : elements;
  }
  /// Returns the number of elements chosen from chunk `chunk`.
  THINPIPE_BOTH std::uint32_t most_at(std::uint32_t chunk) const {
    const std::uint32_t left = n - (chunk << bits);
    return most_of(left < size() ? left : size());
  }
  /// Returns the number of elements chosen from all chunks.
  THINPIPE_BOTH std::uint32_t selected() const {
    return (n >> bits) * most_of(size()) + most_of(n & (size() - 1));
  }
};

}  // namespace thinpipe::cuda
