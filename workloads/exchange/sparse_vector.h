// Vectors of which only some elements are there, as sparse all-reduces take and give them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace thinpipe {

/// Some elements of a vector: indices ascending and distinct, each with its value; as many of both.
struct SparseView {
  std::span<const std::uint32_t> indices;
  std::span<const float> values;
  std::size_t size() const { return indices.size(); }
};

/// What a sparse all-reduce ends with.
struct SparseSum {
  /// factor * the sum over ranks of what was selected again: the same bits on every rank.
  SparseView sum;
  /// What this rank must put back into its memory (Compressor::give_back), not multiplied by the
  /// factor, since it is in nobody's sum. May hold what other ranks have sent.
  SparseView returned;
};

/// One element as it crosses the network (docs/patterns.md, "Pairs"): u32 index, f32 value.
struct SparsePair {
  std::uint32_t index;
  float value;
  bool operator==(const SparsePair&) const = default;
};
static_assert(sizeof(SparsePair) == 8);

}  // namespace thinpipe
