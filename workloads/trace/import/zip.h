// The part of the ZIP format that NumPy's .npz files use: members stored or deflated, no
// encryption, one disk, ZIP64 sizes. PKWARE's APPNOTE.TXT 6.3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace thinpipe {

/// One member as the central directory describes it.
struct ZipMember {
  std::string name;
  bool deflated = false;
  std::span<const std::byte> packed;  ///< within the archive
  std::uint64_t size = 0;             ///< unpacked, bytes
  std::uint32_t crc = 0;              ///< CRC-32 of the unpacked bytes
};

/// The members in the order of the central directory.
/// @param name the archive's name in messages.
/// @throws InputError for whatever does not hold together or is not of the part above.
std::vector<ZipMember> parse_zip(std::span<const std::byte> archive, const std::string& name);

/// The unpacked bytes: where they lie for a stored member, else in `storage`. Their number and
/// CRC-32 are checked; no more than a deflated member can unpack to is ever allocated.
/// @throws InputError
std::span<const std::byte> unpack(const ZipMember& member, const std::string& archive_name,
                                  std::vector<std::byte>& storage);

}  // namespace thinpipe
