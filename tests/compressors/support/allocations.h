// Counts calls of operator new in the whole program.
#pragma once

#include <cstddef>

namespace thinpipe::testing {

/// False under a sanitizer that brings its own operator new; then nothing is counted.
bool counts_allocations();
std::size_t allocations();

}  // namespace thinpipe::testing
