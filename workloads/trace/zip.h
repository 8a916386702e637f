// ZIP archives as NumPy's .npz files are: read and written by libzip.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace thinpipe {

/// Is given each member's name and its unpacked bytes, which are gone afterwards.
using TakeMember = std::function<void(const std::string& name, std::span<const std::byte> bytes)>;

/// Unpacks the members of an archive, stored or deflated, in the order of its directory. Their
/// lengths and CRC-32 are checked, and no more is allocated than so many packed bytes can unpack
/// to.
/// @param shown  the archive's name in messages
/// @throws InputError naming archive and member
void unpack_zip(std::span<const std::byte> archive, const std::string& shown,
                const TakeMember& take);

/// A member to be written: its parts, one after the other.
struct ZipMember {
  std::string name;
  std::vector<std::span<const std::byte>> parts;
};

/// Writes them stored, all of the same date: the same members give the same bytes.
/// @throws RunError
void write_zip(const std::filesystem::path& file, std::span<const ZipMember> members);

}  // namespace thinpipe
