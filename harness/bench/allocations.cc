#include "harness/bench/allocations.h"

namespace thinpipe {
namespace {
const std::atomic<std::uint64_t>* counter = nullptr;
}  // namespace

std::optional<std::uint64_t> allocations() {
  if (!counter) return std::nullopt;
  return counter->load(std::memory_order_relaxed);
}

void count_allocations_in(const std::atomic<std::uint64_t>& where) { counter = &where; }

}  // namespace thinpipe
