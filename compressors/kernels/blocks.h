// Quantisation in blocks with a scale each (ZeRO++ section 3.2; SDP4Bit section 3; OCP MX v1.0):
// one pass over memory, everything else in first-level cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/block_format.h"
#include "compressors/kernels/counter_random.h"

namespace thinpipe {

/// A rotation that both ends know: what is transformed is signs * x.
struct BlockRotation {
  std::span<const std::uint32_t> sign_bits = {};  ///< kMaxBlock words of 0 or 2^31; the same for
                                                  ///< every block
};

/// Writes block_count() scales and code_bytes() codes. NaN counts as 0, magnitudes over 2^100 as
/// 2^100. `remainder`, where not empty, becomes c - decoded (0 where that is not finite); it may be
/// the same array as c. `key` seeds stochastic rounding.
/// @returns the elements that may decode to something other than 0.
std::size_t encode_blocks(const BlockFormat& format, const BlockRotation& rotation, RandomKey key,
                          std::span<const float> c, std::span<float> remainder, std::byte* scales,
                          std::uint8_t* codes);

/// What decode_blocks found.
enum class BlockProblem { kNone, kScale, kCode, kPadding };

/// out += factor * decoded, for scales and codes of the right lengths. Stops at a problem it finds:
/// a scale that is negative or not finite, a code that is no number, padding that is not zero.
BlockProblem decode_blocks(const BlockFormat& format, const BlockRotation& rotation,
                           const std::byte* scales, const std::uint8_t* codes, float factor,
                           std::span<float> out);

}  // namespace thinpipe
