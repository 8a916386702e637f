// How many bits of an array are set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thinpipe {

std::size_t count_bits(std::span<const std::uint64_t> words);

}  // namespace thinpipe
