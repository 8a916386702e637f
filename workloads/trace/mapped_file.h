// A regular file mapped read-only into memory for as long as the object lives.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace thinpipe {

/// The file must not be shortened while it is mapped: the kernel answers a touch of the lost pages
/// with SIGBUS. Traces are written once and renamed into place, so this takes a deliberate act.
class MappedFile {
 public:
  /// @throws InputError when it is missing, unreadable, no regular file or empty.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace thinpipe
