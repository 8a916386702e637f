// Golomb-Rice codes of the gaps between ascending positions (SBC eq. 5), many at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thinpipe {

/// Writes the number of zeros before each position: its quotient by 2^bits in unary, then `bits`
/// bits of the remainder; lowest bit of each byte first, the last byte filled with zeros.
/// @param positions  ascending and distinct
/// @param bits       0 to 31
/// @param out        must have space for all codes
/// @returns bytes written
std::size_t rice_encode(std::span<const std::uint32_t> positions, int bits,
                        std::span<std::byte> out);

/// Position of a reader of such codes.
struct RiceCursor {
  std::uint64_t bit = 0;   ///< of the payload at which the next code begins
  std::uint64_t next = 0;  ///< the lowest position that may follow
};

/// Reads codes while they are short and well before the payload's end: the common case. Reads no
/// byte outside the payload, and does not judge what follows the last code read.
/// @param mean_bits  about the length of a code; a wrong one costs time only
/// @param positions  filled from the front, at most 2^20; ascending, truncated to 32 bits: in range
///   if and only if cursor.next is afterwards
/// @returns the number read: fewer than positions.size() where the next code needs care
std::size_t rice_decode(std::span<const std::byte> payload, int bits, double mean_bits,
                        RiceCursor& cursor, std::span<std::uint32_t> positions);

}  // namespace thinpipe
