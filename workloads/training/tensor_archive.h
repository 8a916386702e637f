// Tensors and numbers as bytes, for a learner's state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

namespace thinpipe {

/// In this machine's byte order: "TPLEARN1", the length of the identity and the identity; then
/// entries: name (length and bytes), type (u8: 0 number, 1 float, 2 int64), number of dimensions
/// (u8), dimensions (u64 each), values; at the end FNV-1a of all before (u64).
class ArchiveWriter {
 public:
  /// @param identity  what the state is of; the reader asks for the same
  explicit ArchiveWriter(const std::string& identity);
  void number(const std::string& name, std::uint64_t value);
  /// Float or int64.
  void tensor(const std::string& name, const at::Tensor& tensor);
  std::vector<std::byte> finish();

 private:
  void raw(const void* data, std::size_t size);
  void text(const std::string& text);

  std::vector<std::byte> bytes_;
};

/// Reads in the order of writing. Everything throws InputError "state: ..." for what is damaged,
/// too short or not what is asked for.
class ArchiveReader {
 public:
  ArchiveReader(std::span<const std::byte> bytes, const std::string& identity);
  std::uint64_t number(const std::string& name);
  /// Of the same type and shape as `like`.
  at::Tensor tensor(const std::string& name, const at::Tensor& like);
  at::Tensor tensor(const std::string& name);
  /// Nothing may be left.
  void finish() const;

 private:
  std::span<const std::byte> take(std::size_t size);
  std::uint64_t u64();
  std::uint8_t u8();
  std::string text();
  void expect_entry(const std::string& name);

  std::span<const std::byte> left_;
};

}  // namespace thinpipe
