// Vectors of which only some elements are there, as sparse all-reduces take and give them; and what
// is done with lists of their elements: merge them, select from them, check them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe {

/// Some elements of a vector: indices ascending and distinct, each with its value; as many of both.
struct SparseView {
  std::span<const std::uint32_t> indices;
  std::span<const float> values;
  std::size_t size() const { return indices.size(); }
};

/// Result of a sparse all-reduce.
struct SparseSum {
  /// factor * the sum over ranks of what was selected again: the same bits on every rank.
  SparseView sum;
  /// Pairs that this rank must restore to its memory (Compressor::give_back), not multiplied by the
  /// factor, since they are in nobody's sum. May hold pairs that other ranks have sent.
  SparseView returned;
};

/// One element as it crosses the network (docs/patterns.md, "Pairs"): u32 index, f32 value.
struct SparsePair {
  std::uint32_t index;
  float value;
  bool operator==(const SparsePair&) const = default;
};
static_assert(sizeof(SparsePair) == 8);

/// Indices ascend strictly in all of these.
using SparsePairs = std::vector<SparsePair>;

/// out = a + b, index by index; `out` is neither of them.
void merge_sum(std::span<const SparsePair> a, std::span<const SparsePair> b, SparsePairs& out);

/// How magnitudes are ranked: the bits of |x|, so that NaN > infinity > finite.
std::int32_t magnitude_key(float value);

/// Selects again, with room that is reused.
class Reselection {
 public:
  /// The k-th greatest magnitude's key among the pairs; 0, which every key reaches, where there are
  /// not more than k. k = 0 counts as 1.
  std::int32_t kth_key(std::span<const SparsePair> pairs, std::size_t k);
  /// The same of keys; they are overwritten.
  static std::int32_t kth_key(std::span<std::int32_t> keys, std::size_t k);

  /// Keeps the k pairs of the greatest magnitudes, of equal ones those of the lowest indices, and
  /// appends the others to `dropped`, which is not `pairs`.
  void keep_top(SparsePairs& pairs, std::size_t k, SparsePairs& dropped);

 private:
  std::vector<std::int32_t> keys_;
};

/// The pairs of `own` whose index is not in `taken`. `out` is neither.
void pairs_not_in(SparseView own, std::span<const SparsePair> taken, SparsePairs& out);

/// Arrays of indices and values, each value times `factor`.
class SparseArrays {
 public:
  void assign(std::span<const SparsePair> pairs, float factor);
  SparseView view() const { return {indices_, values_}; }

 private:
  std::vector<std::uint32_t> indices_;
  std::vector<float> values_;
};

/// pairs = the elements of `own`. @throws InputError unless its indices ascend strictly, are less
/// than `dimension` and have a value each: what a rank would refuse from another.
void pairs_of(SparseView own, std::size_t dimension, SparsePairs& pairs);

/// The pairs that lie in a message's bytes. @param sender  its rank, for the error
/// @throws PayloadError unless they are whole pairs whose indices ascend strictly in [begin, end).
void read_pairs(std::span<const std::byte> bytes, int sender, std::size_t begin, std::size_t end,
                SparsePairs& pairs);

/// Throws as read_pairs(). @param sender  -1: several
void check_pairs(std::span<const SparsePair> pairs, int sender, std::size_t begin, std::size_t end);

}  // namespace thinpipe
