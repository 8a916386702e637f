// CRC-32C, the checksum of frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thinpipe {

/// CRC-32C (Castagnoli's polynomial 0x1edc6f41, reflected; start and end inverted; RFC 3720
/// appendix B.4). Finds every error of up to 5 bits in 655 bytes, of up to 3 bits in any file of
/// less than 256 MiB, and every burst of up to 32 bits (Koopman, 2002).
/// Own code because nothing that thinpipe links has it: libcrypto has no CRC, and zlib, whose
/// CRC-32 finds fewer errors at these lengths, would be one more dependency for 30 lines.
/// @param before  the checksum of the bytes that came before these, to go on from; 0 at the start
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace thinpipe
