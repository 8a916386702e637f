#include "workloads/simulate/folded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "base/error.h"

namespace thinpipe {
namespace {

constexpr std::size_t kFoldFrom = std::size_t{1} << 20;  // bytes of an array
constexpr std::size_t kPage = 4096;
constexpr std::size_t kReserved = std::size_t{1} << 42;  // addresses, not memory

struct Fold {
  int file = -1;  // the memory that repeats
  std::size_t period = 0;
  std::byte *begin = nullptr, *next = nullptr, *end = nullptr;  // the reserved addresses

  bool has(const void* place) const {
    return begin != nullptr && static_cast<const std::byte*>(place) >= begin &&
           static_cast<const std::byte*>(place) < end;
  }
  // Returns nothing where there is no memory.
  void* allocate(std::size_t size) {
    size = (size + kPage - 1) / kPage * kPage;
    if (size > static_cast<std::size_t>(end - next)) return nullptr;
    std::byte* const place = next;
    for (std::size_t at = 0; at < size; at += period)
      if (mmap(place + at, std::min(period, size - at), PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
        return nullptr;
    next += size;
    return place;
  }
};

// Not destroyed: arrays may be freed at the end of the process.
Fold fold;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables)

void* allocate(std::size_t size) {
  void* const place = fold.period > 0 && size >= kFoldFrom
                          ? fold.allocate(size)
                          : std::malloc(std::max<std::size_t>(1, size));
  if (place == nullptr) throw std::bad_alloc();
  return place;
}

void release(void* place) {
  if (!fold.has(place)) std::free(place);
}

}  // namespace

FoldedAllocations::FoldedAllocations(std::size_t period) {
  if (fold.begin == nullptr) {
    void* const place =
        mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) throw SystemError("reserve addresses for folded messages");
    fold.begin = fold.next = static_cast<std::byte*>(place);
    fold.end = fold.begin + kReserved;
  }
  fold.file = memfd_create("folded-messages", MFD_CLOEXEC);
  if (fold.file < 0 || ftruncate(fold.file, static_cast<off_t>(period)) != 0)
    throw SystemError("make memory for folded messages");
  fold.period = period;
}

FoldedAllocations::~FoldedAllocations() {
  fold.period = 0;
  close(fold.file);
}

}  // namespace thinpipe

// These replace the standard library's for the whole program. A sanitizer has its own; then nothing
// is folded.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
void* operator new(std::size_t size) { return thinpipe::allocate(size); }
void operator delete(void* place) noexcept { thinpipe::release(place); }
void operator delete(void* place, std::size_t /*size*/) noexcept { thinpipe::release(place); }
#endif
