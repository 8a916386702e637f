// Asking for what a pass will come to: the prefetchers of CPUs stop at the end of a page, and
// passes that compute much an element do not keep enough reads under way by themselves.
#pragma once

#include <cstddef>

namespace thinpipe {

/// How many elements before their turn a line is asked for: four pages of them.
constexpr std::size_t kFarAhead = 4096;

/// Asks for the cache line of x[kFarAhead], which need not exist, into the second-level cache:
/// there the first level's few buffers for misses do not wait with it. Inlined always: GCC takes a
/// function that does nothing else for one without effect, and drops calls of it.
[[gnu::always_inline]] inline void ask_far_ahead(const void* x) {
  constexpr int kSecondLevel = 2;
  __builtin_prefetch(static_cast<const char*>(x) + kFarAhead * sizeof(float), 0, kSecondLevel);
}

}  // namespace thinpipe
