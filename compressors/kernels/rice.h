// Golomb-Rice codes of the gaps between ascending positions (SBC eq. 5), many at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thinpipe {

/// Writes a code for each position: the number of elements that are skipped (zeros) since the
/// position before. A code is that number's quotient by 2^bits in unary, then `bits` bits of its
/// remainder. The lowest bit of each byte comes first; the last byte is filled with zeros.
/// @param positions  ascending and distinct
/// @param bits  0 to 31
/// @param out  must have space for all codes
/// @returns bytes written
std::size_t rice_encode(std::span<const std::uint32_t> positions, int bits,
                        std::span<std::byte> out);

/// Position of a reader of such codes.
struct RiceCursor {
  std::uint64_t bit = 0;   ///< of the payload at which the next code begins
  std::uint64_t next = 0;  ///< the lowest position that may follow
};

/// Reads codes as long as they are short and well before the payload's end, which is the common
/// case. Reads no byte outside the payload, and does not check what follows the last code read.
/// @param mean_bits  about the length of a code; a wrong value costs only time
/// @param positions  filled from the front, at most 2^20; ascending, truncated to 32 bits: in range
/// if and only if cursor.next is in range afterwards
/// @returns the number of positions read: fewer than positions.size() where the next code is not
/// such a common case
std::size_t rice_decode(std::span<const std::byte> payload, int bits, double mean_bits,
                        RiceCursor& cursor, std::span<std::uint32_t> positions);

}  // namespace thinpipe
