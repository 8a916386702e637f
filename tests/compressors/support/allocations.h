// Counts calls of operator new in the whole program.
#pragma once

#include <cstddef>

namespace thinpipe::testing {

/// False under a sanitizer that brings its own operator new; then nothing is counted.
bool counts_allocations();
std::size_t allocations();
/// Counts the calling thread alone.
std::size_t allocations_of_thread();

}  // namespace thinpipe::testing
