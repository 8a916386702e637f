#include "workloads/simulate/folded_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"

namespace thinpipe {
namespace {

std::size_t whole_pages(std::size_t size) {
  constexpr std::size_t kPage = RepeatedPages::kPage;
  return std::max<std::size_t>(1, (size + kPage - 1) / kPage) * kPage;
}

}  // namespace

RepeatedPages::RepeatedPages(std::size_t size)
    : size_(whole_pages(size)), descriptor_(memfd_create("folded-messages", MFD_CLOEXEC)) {
  if (descriptor_ < 0 || ftruncate(descriptor_, static_cast<off_t>(size_)) != 0)
    throw SystemError("make memory for simulated messages");
}

RepeatedPages::~RepeatedPages() { close(descriptor_); }

FoldedMemory::FoldedMemory(const RepeatedPages& pages, std::size_t size)
    : size_(whole_pages(size)) {
  constexpr int kReserve = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* const place = mmap(nullptr, size_, PROT_NONE, kReserve, -1, 0);
  if (place == MAP_FAILED) throw SystemError("reserve addresses for simulated messages");
  data_ = static_cast<std::byte*>(place);
  for (std::size_t at = 0; at < size_; at += pages.size())
    if (mmap(data_ + at, std::min(pages.size(), size_ - at), PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_FIXED, pages.descriptor(), 0) == MAP_FAILED) {
      munmap(data_, size_);
      throw SystemError(
          "map memory for simulated messages (sysctl vm.max_map_count limits the mappings)");
    }
}

FoldedMemory::~FoldedMemory() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace thinpipe
