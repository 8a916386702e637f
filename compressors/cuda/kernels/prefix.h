// A tile's prefix state, published for later tiles, so that one pass can both count and write
// (Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016).
#pragma once

#include <cstdint>

#include "base/both.h"

namespace thinpipe::cuda {

/// Two counts below 2^31 that are added up together: of kept elements, and of another kind.
struct Counts {
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  THINPIPE_BOTH Counts operator+(const Counts& other) const {
    return {first + other.first, second + other.second};
  }
};

/// The operation that joins the counts of earlier tiles.
enum class Joined { kSum, kMax };

template <Joined joined>
THINPIPE_BOTH Counts join(const Counts& a, const Counts& b) {
  if constexpr (joined == Joined::kSum) {
    return a + b;
  } else {
    return {a.first > b.first ? a.first : b.first, a.second > b.second ? a.second : b.second};
  }
}

/// A tile's state in one word, which is written and read atomically: nothing (0, the state before
/// and after every step), the tile's own counts, or the counts of all tiles up to it.
using PrefixState = unsigned long long;

enum class PrefixKind : std::uint32_t { kNothing = 0, kOwn = 1, kAll = 2 };

THINPIPE_BOTH constexpr PrefixState prefix_state(PrefixKind kind, Counts counts) {
  return static_cast<PrefixState>(kind) << 62 | static_cast<PrefixState>(counts.first) << 31 |
         static_cast<PrefixState>(counts.second);
}
THINPIPE_BOTH constexpr PrefixKind kind_of(PrefixState state) {
  return static_cast<PrefixKind>(state >> 62);
}
THINPIPE_BOTH constexpr Counts counts_of(PrefixState state) {
  constexpr PrefixState kMask = 0x7fffffff;
  return {static_cast<std::uint32_t>(state >> 31 & kMask),
          static_cast<std::uint32_t>(state & kMask)};
}

constexpr int kWarpThreads = 32;  ///< threads of a warp

}  // namespace thinpipe::cuda
