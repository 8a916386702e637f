// Files mapped read-only into memory, and the SHA-256 of their bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace thinpipe {

/// A regular file, mapped during the object's lifetime. The file must not be truncated meanwhile:
/// the kernel answers an access to the lost pages with SIGBUS. Traces are written once and renamed
/// into place, so only a deliberate act truncates them.
class MappedFile {
 public:
  /// @throws InputError if the file is missing, unreadable, not regular or empty.
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

/// SHA-256 of bytes that arrive in several chunks.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  std::string finish();  ///< 64 lower-case hexadecimal digits; ends the object's use

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Returns the SHA-256 of `bytes` as 64 lower-case hexadecimal digits.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace thinpipe
