// Memory for messages whose bytes no one reads: a large range of addresses that repeats a few
// pages. A thousand ranks can so have room for all of each other's messages.
#pragma once

#include <cstddef>
#include <utility>

namespace thinpipe {

/// Pages that ranges of addresses repeat.
class RepeatedPages {
 public:
  static constexpr std::size_t kPage = 4096;

  /// @param size  in bytes, rounded up to whole pages @throws SystemError
  explicit RepeatedPages(std::size_t size);
  ~RepeatedPages();
  RepeatedPages(const RepeatedPages&) = delete;
  RepeatedPages& operator=(const RepeatedPages&) = delete;

  std::size_t size() const { return size_; }
  int descriptor() const { return descriptor_; }

 private:
  std::size_t size_;
  int descriptor_;
};

/// A range of addresses that repeats pages: addresses that differ by a multiple of the pages' size
/// are the same memory. Its bytes are 0 until somebody writes them.
class FoldedMemory {
 public:
  FoldedMemory() = default;
  /// @param size  in bytes; each repetition counts against the kernel's limit of mappings
  /// @throws SystemError where the kernel refuses
  FoldedMemory(const RepeatedPages& pages, std::size_t size);
  ~FoldedMemory();
  FoldedMemory(FoldedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(other.size_) {}
  FoldedMemory& operator=(FoldedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace thinpipe
