// Sparse vectors, as sparse all-reduces take and return them; and operations on lists of their
// elements: merging, selection and checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace thinpipe {

/// Some elements of a vector: ascending, distinct indices, and one value for each.
struct SparseView {
  std::span<const std::uint32_t> indices;
  std::span<const float> values;
  std::size_t size() const { return indices.size(); }
};

/// Result of a sparse all-reduce.
struct SparseSum {
  /// factor * the re-selected elements of the sum over ranks, with the same bits on every rank.
  SparseView sum;
  /// Pairs that this rank must restore to its residual (SparsePayload::give_back), since no sum
  /// contains them. Their values are not multiplied by the factor. Pairs that other ranks have sent
  /// may be among them.
  SparseView returned;
};

/// One element as it crosses the network (docs/collectives.md, "Pairs"): u32 index, f32 value.
struct SparsePair {
  std::uint32_t index;
  float value;
  bool operator==(const SparsePair&) const = default;
};
static_assert(sizeof(SparsePair) == 8);

/// Indices ascend strictly in all of these.
using SparsePairs = std::vector<SparsePair>;

/// Computes out = a + b, index by index; `out` is neither of them.
void merge_sum(std::span<const SparsePair> a, std::span<const SparsePair> b, SparsePairs& out);

/// Returns the key by which magnitudes are ranked: the bits of |x|, so NaN > infinity > finite.
std::int32_t magnitude_key(float value);

/// Selects again, with a buffer that is reused.
class Reselection {
 public:
  /// Returns the key of the k-th greatest magnitude among the pairs. If there are at most k pairs,
  /// returns 0, which every pair's key reaches. k = 0 counts as 1.
  std::int32_t kth_key(std::span<const SparsePair> pairs, std::size_t k);
  /// The same for keys, which are overwritten.
  static std::int32_t kth_key(std::span<std::int32_t> keys, std::size_t k);

  /// Keeps the k pairs of greatest magnitude in `pairs`; among equal magnitudes, pairs with lower
  /// indices are kept first. Appends all other pairs to `dropped`, which must not be `pairs`
  /// itself.
  void keep_top(SparsePairs& pairs, std::size_t k, SparsePairs& dropped);

 private:
  std::vector<std::int32_t> keys_;
};

/// Sets `out` to the pairs of `own` whose index is not in `taken`. `out` must be a different buffer
/// from `own` and `taken`.
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

/// Sets `pairs` to the elements of `own`. @throws InputError unless its indices ascend strictly,
/// are less than `dimension` and have one value each, as other ranks require
void pairs_of(SparseView own, std::size_t dimension, SparsePairs& pairs);

/// Sets `pairs` to the pairs in a message. @param sender  its rank, for the error
/// @throws PayloadError unless they are whole pairs whose indices ascend strictly in [begin, end)
void read_pairs(std::span<const std::byte> bytes, int sender, std::size_t begin, std::size_t end,
                SparsePairs& pairs);

/// Checks pairs. @throws PayloadError as read_pairs() @param sender  -1: several ranks
void check_pairs(std::span<const SparsePair> pairs, int sender, std::size_t begin, std::size_t end);

}  // namespace thinpipe
