#include "workloads/collectives/sparse_pairs.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "compressors/compressor.h"
#include "compressors/kernels/keys.h"
#include "compressors/select/top_k.h"

namespace thinpipe {

void merge_sum(std::span<const SparsePair> a, std::span<const SparsePair> b, SparsePairs& out) {
  out.resize(a.size() + b.size());
  SparsePair* to = out.data();
  std::size_t i = 0, j = 0;
  // Which of the two lists has the next index is practically random, so no branch depends on it. A
  // list without that index contributes -0, since -0 + x = x for every x.
  while (i < a.size() && j < b.size()) {
    const SparsePair x = a[i], y = b[j];
    const bool from_a = x.index <= y.index, from_b = y.index <= x.index;
    *to++ = {from_a ? x.index : y.index, (from_a ? x.value : -0.0F) + (from_b ? y.value : -0.0F)};
    i += from_a ? 1 : 0;
    j += from_b ? 1 : 0;
  }
  to = std::copy(a.begin() + static_cast<std::ptrdiff_t>(i), a.end(), to);
  to = std::copy(b.begin() + static_cast<std::ptrdiff_t>(j), b.end(), to);
  out.resize(static_cast<std::size_t>(to - out.data()));
}

std::int32_t magnitude_key(float value) { return key_of(value, KeyOrder::kMagnitude); }

std::int32_t Reselection::kth_key(std::span<std::int32_t> keys, std::size_t k) {
  k = std::max<std::size_t>(k, 1);
  return keys.size() <= k ? 0 : kth_greatest(keys, k);
}

std::int32_t Reselection::kth_key(std::span<const SparsePair> pairs, std::size_t k) {
  keys_.resize(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) keys_[i] = magnitude_key(pairs[i].value);
  return kth_key(std::span(keys_), k);
}

void Reselection::keep_top(SparsePairs& pairs, std::size_t k, SparsePairs& dropped) {
  if (pairs.size() <= k) return;
  const std::size_t drops = pairs.size() - k, before = dropped.size();
  // k = 0: no key exceeds the greatest of all, and no tie is taken.
  const std::int32_t kth = k == 0 ? kMaxKey : kth_key(pairs, k);
  std::size_t above = 0;
  for (const SparsePair& pair : pairs) above += magnitude_key(pair.value) > kth ? 1 : 0;
  std::size_t ties = k - above;
  // Every pair is written to both lists; only one of them keeps it.
  dropped.resize(before + drops + 1);
  SparsePair* out = dropped.data() + before;
  std::size_t kept = 0;
  for (const SparsePair pair : pairs) {
    const std::int32_t key = magnitude_key(pair.value);
    const bool tie = key == kth && ties > 0;
    const bool keep = key > kth || tie;
    ties -= tie ? 1 : 0;
    pairs[kept] = pair;
    *out = pair;
    kept += keep ? 1 : 0;
    out += keep ? 0 : 1;
  }
  pairs.resize(kept);
  dropped.resize(before + drops);
}

void pairs_not_in(SparseView own, std::span<const SparsePair> taken, SparsePairs& out) {
  out.resize(own.size() + 1);
  std::size_t count = 0, j = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    while (j < taken.size() && taken[j].index < own.indices[i]) ++j;
    out[count] = {own.indices[i], own.values[i]};
    count += j < taken.size() && taken[j].index == own.indices[i] ? 0 : 1;
  }
  out.resize(count);
}

void SparseArrays::assign(std::span<const SparsePair> pairs, float factor) {
  indices_.resize(pairs.size());
  values_.resize(pairs.size());
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    indices_[i] = pairs[i].index;
    values_[i] = pairs[i].value * factor;
  }
}

void pairs_of(SparseView own, std::size_t dimension, SparsePairs& pairs) {
  if (own.indices.size() != own.values.size())
    throw InputError(fmt::format("sparse all-reduce: {} indices and {} values; expected one each",
                                 own.indices.size(), own.values.size()));
  pairs.resize(own.size());
  for (std::size_t i = 0; i < own.size(); ++i) pairs[i] = {own.indices[i], own.values[i]};
  std::uint64_t next = 0;
  for (const SparsePair& pair : pairs) {
    if (pair.index < next || pair.index >= dimension)
      throw InputError(fmt::format("sparse all-reduce: index {}; expected {} to {} (exclusive)",
                                   pair.index, next, dimension));
    next = std::uint64_t{pair.index} + 1;
  }
}

void check_pairs(std::span<const SparsePair> pairs, int sender, std::size_t begin,
                 std::size_t end) {
  if (pairs.empty()) return;
  bool ascending = pairs[0].index >= begin && pairs.back().index < end;
  for (std::size_t i = 1; i < pairs.size(); ++i) ascending &= pairs[i].index > pairs[i - 1].index;
  if (ascending) return;
  std::uint64_t next = begin;
  for (const SparsePair& pair : pairs) {
    if (pair.index < next || pair.index >= end)
      throw PayloadError(fmt::format("pairs{}: index {}; expected {} to {} (exclusive)",
                                     sender < 0 ? "" : fmt::format(" of rank {}", sender),
                                     pair.index, next, end));
    next = std::uint64_t{pair.index} + 1;
  }
}

void read_pairs(std::span<const std::byte> bytes, int sender, std::size_t begin, std::size_t end,
                SparsePairs& pairs) {
  if (bytes.size() % sizeof(SparsePair) != 0)
    throw PayloadError(fmt::format("pairs of rank {}: {} bytes; expected a multiple of {}", sender,
                                   bytes.size(), sizeof(SparsePair)));
  pairs.resize(bytes.size() / sizeof(SparsePair));
  if (!bytes.empty()) std::memcpy(pairs.data(), bytes.data(), bytes.size());
  check_pairs(pairs, sender, begin, end);
}

}  // namespace thinpipe
