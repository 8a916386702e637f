// Replaces the allocation functions of the whole program, including its libraries. They are in a
// file of their own so that no compiler sees both functions of a pair (allocation and release) at
// once and reports a mismatch.
#include "tests/compressors/support/allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define THINPIPE_COUNTS_ALLOCATIONS 0
#else
#define THINPIPE_COUNTS_ALLOCATIONS 1
#endif

namespace {
std::atomic<std::size_t> count = 0;
thread_local std::size_t count_of_thread = 0;
}  // namespace

#if THINPIPE_COUNTS_ALLOCATIONS
void* operator new(std::size_t size) {
  ++count;
  ++count_of_thread;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
#endif

namespace thinpipe::testing {

bool counts_allocations() { return THINPIPE_COUNTS_ALLOCATIONS != 0; }

std::size_t allocations() { return count; }

std::size_t allocations_of_thread() { return count_of_thread; }

}  // namespace thinpipe::testing
