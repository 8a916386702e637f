// Running a selector or a TopK by itself.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "compressors/kernels/select.h"
#include "compressors/select/selector.h"
#include "tests/compressors/support/inputs.h"

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

/// finite_inputs() and heavy tails of more sizes around multiples of vectors and of 65536.
inline std::vector<NamedInput> selection_inputs() {
  std::vector<NamedInput> inputs = finite_inputs();
  for (std::size_t n : {4, 6, 69, 71, 65535, 65537}) {
    inputs.push_back({"heavy " + std::to_string(n), heavy(n, n + 2)});
  }
  return inputs;
}

/// Where |x| > threshold.
inline std::vector<std::uint32_t> positions_above(const std::vector<float>& x, double threshold) {
  std::vector<std::uint32_t> positions;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (static_cast<double>(std::fabs(x[i])) > threshold) {
      positions.push_back(static_cast<std::uint32_t>(i));
    }
  }
  return positions;
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
