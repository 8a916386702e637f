// Files mapped read-only into memory, and the SHA-256 of their bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

namespace thinpipe {

/// A regular file, mapped as long as the object lives. It must not be shortened meanwhile: the
/// kernel answers a touch of the lost pages with SIGBUS. Traces are written once and renamed into
/// place, so this takes a deliberate act.
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

/// SHA-256 of bytes that come piece by piece.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  std::string finish();  ///< 64 lower-case hexadecimal digits; the object is then spent

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same of bytes that are all there.
std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace thinpipe
