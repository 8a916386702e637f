// Workspace whose memory is reserved up front and touched only where it is used.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

namespace thinpipe {

/// An uninitialised array. Pages that nobody writes cost address space only, so a compressor can
/// hold room for its worst case.
template <class T>
class Buffer {
  static_assert(std::is_trivial_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(std::size_t size) : data_(new T[size]), size_(size) {}

  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  std::span<T> first(std::size_t n) { return {data_.get(), n}; }
  std::span<const T> first(std::size_t n) const { return {data_.get(), n}; }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t size_ = 0;
};

}  // namespace thinpipe
