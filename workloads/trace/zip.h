// ZIP archives, the container of NumPy's .npz files, read and written by libzip.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace thinpipe {

/// Receives each member's name and its unpacked bytes, which are valid during the call only.
using TakeMember = std::function<void(const std::string& name, std::span<const std::byte> bytes)>;

/// Unpacks the members of an archive, stored or deflated, in the order of its directory. Checks
/// lengths and CRC-32, and allocates no more than the packed bytes can unpack to.
/// @param shown  the archive's name in messages
/// @throws InputError naming archive and member
void unpack_zip(std::span<const std::byte> archive, const std::string& shown,
                const TakeMember& take);

/// A member to be written: the concatenation of its parts.
struct ZipMember {
  std::string name;
  std::vector<std::span<const std::byte>> parts;
};

/// Writes the members stored, all with the same date: equal members give equal bytes.
/// @throws RunError
void write_zip(const std::filesystem::path& file, std::span<const ZipMember> members);

}  // namespace thinpipe
