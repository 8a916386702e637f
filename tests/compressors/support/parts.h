// Runs selectors, a TopK and quantisers directly, without a pipeline.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "compressors/kernels/select.h"
#include "compressors/quantize/quantizer.h"
#include "compressors/select/selector.h"
#include "tests/compressors/support/inputs.h"

namespace thinpipe::testing {

inline Selection make_selection(std::size_t elements) {
  Selection selection;
  selection.positions = Buffer<std::uint32_t>(elements + kCompactSlack);
  selection.values = Buffer<float>(elements + kCompactSlack);
  return selection;
}

/// One select() into a selection of its own.
inline Selection select(Selector& selector, std::span<const float> c,
                        const SelectContext& context = {}) {
  Selection selection = make_selection(c.size());
  selector.select(c, context, selection);
  return selection;
}

inline std::vector<std::uint32_t> positions_of(const Selection& selection) {
  const auto positions = selection.positions.first(selection.count);
  return {positions.begin(), positions.end()};
}

/// Inputs of selectors and quantisers: also of sizes around five partitions, multiples of vectors,
/// seventy elements and 65536.
inline std::vector<NamedInput> part_inputs() { return finite_inputs({4, 6, 69, 71, 65535, 65537}); }

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

struct Quantized {
  QuantizeReport report;
  std::vector<std::byte> payload;
  std::vector<float> remainder;
};

inline Quantized quantize(Quantizer& quantizer, std::span<const float> c,
                          const QuantizeContext& context = {}) {
  Quantized result;
  result.payload.resize(quantizer.max_encoded_size(c.size()));
  result.remainder.assign(c.size(), 99.0F);
  ByteWriter out(result.payload);
  result.report = quantizer.encode(c, context, result.remainder, out);
  result.payload.resize(out.size());
  return result;
}

inline std::vector<float> dequantize(const Quantizer& quantizer, std::span<const std::byte> payload,
                                     std::size_t elements) {
  std::vector<float> out(elements, 0.0F);
  quantizer.decode_add(ByteReader(payload), 1.0F, out);
  return out;
}

/// The value of a payload's bytes at `at`.
template <class T>
T read(std::span<const std::byte> payload, std::size_t at) {
  T value;
  std::memcpy(&value, payload.subspan(at, sizeof value).data(), sizeof value);
  return value;
}

}  // namespace thinpipe::testing
