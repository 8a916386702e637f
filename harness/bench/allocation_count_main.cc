// Counts calls of operator new in the program `thinpipe`, including the calls by its libraries.
// This file is linked into that program only. It is disabled under sanitizers, which have their own
// operator new.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "harness/bench/timed.h"

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

std::atomic<std::uint64_t> count = 0;

const bool kCounted = [] {
  thinpipe::count_allocations_in(count);
  return true;
}();

}  // namespace

void* operator new(std::size_t size) {
  count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  count.fetch_add(1, std::memory_order_relaxed);
  const auto boundary = static_cast<std::size_t>(alignment);
  // aligned_alloc() needs a size that is a multiple of the alignment.
  const std::size_t rounded = (size + boundary - 1) / boundary * boundary;
  if (rounded >= size)
    if (void* memory = std::aligned_alloc(boundary, rounded == 0 ? boundary : rounded))
      return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

#endif
