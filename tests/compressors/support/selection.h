// Running a selector or a TopK by itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "compressors/kernels/compact.h"
#include "compressors/select/selector.h"

namespace thinpipe::testing {

inline Selection make_selection(std::size_t elements) {
  Selection selection;
  selection.positions = Buffer<std::uint32_t>(elements + kCompactSlack);
  selection.values = Buffer<float>(elements + kCompactSlack);
  return selection;
}

inline std::vector<std::uint32_t> positions_of(const Selection& selection) {
  const auto positions = selection.positions.first(selection.count);
  return {positions.begin(), positions.end()};
}

/// The k of `candidates` that rank first, the lowest positions among equals: a full stable sort.
inline std::vector<std::uint32_t> plain_top_k(const std::vector<float>& x, KeyOrder order,
                                              std::size_t k,
                                              std::vector<std::uint32_t> candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [&](std::uint32_t a, std::uint32_t b) {
    return key_of(x[a], order) > key_of(x[b], order);
  });
  candidates.resize(k);
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

inline std::vector<std::uint32_t> plain_top_k(const std::vector<float>& x, KeyOrder order,
                                              std::size_t k) {
  std::vector<std::uint32_t> all(x.size());
  std::iota(all.begin(), all.end(), 0U);
  return plain_top_k(x, order, k, all);
}

}  // namespace thinpipe::testing
