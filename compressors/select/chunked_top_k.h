// The k largest magnitudes of every chunk (SparseLoCo section 3; DeMo section 3).
#pragma once

#include <bit>
#include <cstddef>
#include <memory>

#include "compressors/encode/position_codec.h"
#include "compressors/select/selector.h"

namespace thinpipe {

/// Consecutive chunks of a tensor, the last of which may be shorter.
struct Chunks {
  std::size_t size = 4096;  ///< a power of two, 1 to 65536
  std::size_t k = 64;       ///< elements of each; all of a chunk that has fewer

  std::size_t count(std::size_t elements) const { return (elements + size - 1) / size; }
  /// Elements chosen of a tensor of that many.
  std::size_t selected(std::size_t elements) const {
    const std::size_t tail = elements % size;
    return elements / size * std::min(k, size) + std::min(k, tail);
  }
  int position_bits() const { return std::bit_width(size) - 1; }
};

/// Ties go to the lowest position.
std::unique_ptr<Selector> make_chunked_top_k_selector(std::size_t elements, const Chunks& chunks);

/// Positions within their chunks, log2(size) bits each. Where a value codec dropped some, every
/// chunk's positions follow their number.
std::unique_ptr<PositionCodec> make_chunked_codec(const Chunks& chunks);

}  // namespace thinpipe
