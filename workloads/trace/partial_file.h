// A file that is there whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace thinpipe {

/// Written without a name in the target's folder (or, where the file system cannot do that, as
/// TARGET.partial); takes its name on commit() and otherwise disappears. An unnamed file also
/// disappears when the process is killed. Nothing is flushed to the device (fsync).
class PartialFile {
 public:
  /// @throws InputError when the target is a folder; SystemError when the folder refuses.
  explicit PartialFile(std::filesystem::path path);
  ~PartialFile();
  PartialFile(PartialFile&& other) noexcept;
  PartialFile& operator=(PartialFile&&) = delete;
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  /// @throws SystemError when the disk is full or refuses.
  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Replaces whatever has the target's name. @throws SystemError
  void commit();
  std::uint64_t size() const { return size_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path partial_;
  int fd_ = -1;
  bool named_ = false;  ///< partial_ exists
  std::uint64_t size_ = 0;
};

}  // namespace thinpipe
