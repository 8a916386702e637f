#include "workloads/exchange/gtopk.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <utility>

namespace thinpipe {

namespace {

// pairs as a framed message.
void write_framed(const SparsePairs& pairs, std::vector<std::byte>& message) {
  const std::uint64_t length = pairs.size() * sizeof(SparsePair);
  message.resize(kStreamLengthBytes + length);
  std::memcpy(message.data(), &length, kStreamLengthBytes);
  if (length > 0) std::memcpy(message.data() + kStreamLengthBytes, pairs.data(), length);
}

}  // namespace

/// others_ = what a peer sends.
void GTopK::receive(Transport& transport, int peer, std::size_t k, std::size_t dimension) {
  streams_.receive_framed(peer, message_, std::min(k, dimension) * sizeof(SparsePair));
  streams_.run(transport);
  read_pairs(framed_content(message_), peer, 0, dimension, others_);
}

/// Adds to what this rank takes back.
void GTopK::drop(const SparsePairs& dropped) {
  merge_sum(returned_, dropped, merged_);
  std::swap(returned_, merged_);
}

SparseSum GTopK::run(Transport& transport, SparseView own, std::size_t k, std::size_t dimension,
                     float factor) {
  const int n = transport.size(), rank = transport.rank();
  pairs_of(own, dimension, pairs_);
  returned_.clear();
  reselection_.keep_top(pairs_, k, returned_);
  // Up the tree: from whom has more trailing zeros in its rank.
  int step = 1;
  for (; step < n && (rank & step) == 0; step *= 2) {
    if (rank + step >= n) continue;
    receive(transport, rank + step, k, dimension);
    merge_sum(pairs_, others_, merged_);
    std::swap(pairs_, merged_);
    dropped_.clear();
    reselection_.keep_top(pairs_, k, dropped_);
    drop(dropped_);
  }
  if (rank != 0) {
    write_framed(pairs_, message_);
    streams_.send(rank - step, message_);
    streams_.run(transport);
    // Down again, the same way.
    receive(transport, rank - step, k, dimension);
    std::swap(pairs_, others_);
  }
  write_framed(pairs_, message_);
  for (step /= 2; step > 0; step /= 2)
    if (rank + step < n) {
      streams_.send(rank + step, message_);
      streams_.run(transport);
    }
  if (put_back_ == PutBack::kSender) pairs_not_in(own, pairs_, returned_);
  sum_.assign(pairs_, factor);
  back_.assign(returned_, 1.0F);
  return {sum_.view(), back_.view()};
}

namespace {

using Elements = std::map<std::size_t, float>;

void keep_greatest(Elements& elements, std::size_t k) {
  std::vector<std::pair<std::int32_t, std::size_t>> ranked;
  for (const auto& [index, value] : elements) ranked.emplace_back(-magnitude_key(value), index);
  std::sort(ranked.begin(), ranked.end());
  for (std::size_t i = k; i < ranked.size(); ++i) elements.erase(ranked[i].second);
}

// The result of ranks [first, first + width) that are there.
Elements reduced(std::span<const std::span<const float>> vectors, std::size_t first,
                 std::size_t width, std::size_t k) {
  Elements elements;
  if (first >= vectors.size()) return elements;
  if (width == 1) {
    for (std::size_t i = 0; i < vectors[first].size(); ++i)
      if (vectors[first][i] != 0) elements[i] = vectors[first][i];
  } else {
    elements = reduced(vectors, first, width / 2, k);
    for (const auto& [index, value] : reduced(vectors, first + width / 2, width / 2, k)) {
      const auto [at, added] = elements.emplace(index, value);
      if (!added) at->second += value;
    }
  }
  keep_greatest(elements, k);
  return elements;
}

}  // namespace

void GTopK::expected(std::span<const std::span<const float>> vectors, std::size_t k, float factor,
                     std::span<float> out) {
  std::fill(out.begin(), out.end(), 0.0F);
  for (const auto& [index, value] : reduced(vectors, 0, std::bit_ceil(vectors.size()), k))
    out[index] = value * factor;
}

}  // namespace thinpipe
