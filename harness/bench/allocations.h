// How often the program has asked for memory, so that a bench can say what an encode asks for.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace thinpipe {

/// Calls of operator new in the whole process; nothing in programs that do not count them. The
/// program `thinpipe` does (allocation_count_main.cc).
std::optional<std::uint64_t> allocations();

/// For the program that counts: from now on allocations() reads this.
void count_allocations_in(const std::atomic<std::uint64_t>& counter);

}  // namespace thinpipe
