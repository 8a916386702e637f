// Workspace that is reserved up front and touched only where it is used.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

namespace thinpipe {

/// Allocates memory aligned to a cache line or, for large sizes, to a huge page. For large sizes it
/// also asks the system for huge pages, because accesses scattered over many pages of 4 KiB wait
/// for address translation.
class BufferMemory {
 public:
  static constexpr std::size_t kLine = 64;
  static constexpr std::size_t kHugePage = std::size_t{2} << 20;

  static void* allocate(std::size_t bytes) {
    const std::size_t alignment = alignment_of(bytes);
    void* const memory = ::operator new(bytes, std::align_val_t(alignment));
    // This is a request: without huge pages, small ones do.
    if (alignment == kHugePage) ::madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
  }
  static void release(void* memory, std::size_t bytes) {
    ::operator delete(memory, std::align_val_t(alignment_of(bytes)));
  }

 private:
  static std::size_t alignment_of(std::size_t bytes) {
    return bytes < 2 * kHugePage ? kLine : kHugePage;
  }
};

/// Allocator of vectors with many elements.
template <class T>
struct LargeAllocator {
  using value_type = T;

  LargeAllocator() = default;
  template <class U>
  LargeAllocator(const LargeAllocator<U>& /*other*/) {}  // NOLINT(google-explicit-constructor)
  T* allocate(std::size_t n) { return static_cast<T*>(BufferMemory::allocate(n * sizeof(T))); }
  void deallocate(T* memory, std::size_t n) { BufferMemory::release(memory, n * sizeof(T)); }
  template <class U>
  bool operator==(const LargeAllocator<U>& /*other*/) const {
    return true;
  }
};
template <class T>
using LargeVector = std::vector<T, LargeAllocator<T>>;

/// An uninitialised array. Unwritten pages cost address space only, so a compressor can reserve its
/// worst case.
template <class T>
class Buffer {
  static_assert(std::is_trivial_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t size)
      : data_(static_cast<T*>(BufferMemory::allocate(size * sizeof(T))), Release{size * sizeof(T)}),
        size_(size) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::span<T> first(std::size_t n) { return {data_.get(), n}; }
  std::span<const T> first(std::size_t n) const { return {data_.get(), n}; }

 private:
  struct Release {
    std::size_t bytes = 0;
    void operator()(T* memory) const { BufferMemory::release(memory, bytes); }
  };

  std::unique_ptr<T[], Release> data_;
  std::size_t size_ = 0;
};

}  // namespace thinpipe
