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
#include "compressors/kernels/signal.h"
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

/// Returns the positions of the values for which `holds` returns true.
template <class Holds>
std::vector<std::uint32_t> positions_where(std::span<const float> x, Holds holds) {
  std::vector<std::uint32_t> positions;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (holds(x[i])) positions.push_back(static_cast<std::uint32_t>(i));
  }
  return positions;
}

/// Where |x| > threshold.
inline std::vector<std::uint32_t> positions_above(std::span<const float> x, double threshold) {
  return positions_where(
      x, [&](float value) { return static_cast<double>(std::fabs(value)) > threshold; });
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

/// The sum of the values at these positions, in their order.
inline double sum_at(std::span<const float> x, std::span<const std::uint32_t> positions) {
  double sum = 0;
  for (std::uint32_t position : positions) sum += static_cast<double>(x[position]);
  return sum;
}

/// SBC's choice (alg. 2): the k largest or the k smallest, whichever have the greater mean
/// magnitude; the largest if both means are equal.
inline std::vector<std::uint32_t> plain_sbc(const std::vector<float>& x, std::size_t k) {
  const auto largest = plain_top_k(x, KeyOrder::kLargest, k);
  const auto smallest = plain_top_k(x, KeyOrder::kSmallest, k);
  return sum_at(x, largest) >= -sum_at(x, smallest) ? largest : smallest;
}

struct Quantized {
  QuantizeReport report;
  std::vector<std::byte> payload;
  std::vector<float> remainder;
};

/// Writes the remainder to `remainder`, which may be the array of `c`.
inline Quantized quantize_into(std::span<float> remainder, Quantizer& quantizer, Signal c,
                               const QuantizeContext& context) {
  Quantized result;
  result.payload.resize(quantizer.max_encoded_size(c.size()));
  ByteWriter out(result.payload);
  result.report = quantizer.encode(c, context, remainder, out);
  result.payload.resize(out.size());
  result.remainder.assign(remainder.begin(), remainder.end());
  return result;
}

inline Quantized quantize(Quantizer& quantizer, std::span<const float> c,
                          const QuantizeContext& context = {}) {
  std::vector<float> remainder(c.size(), 99.0F);
  return quantize_into(remainder, quantizer, c, context);
}

inline std::vector<float> dequantize(const Quantizer& quantizer, std::span<const std::byte> payload,
                                     std::size_t elements) {
  std::vector<float> out(elements, 0.0F);
  quantizer.decode_add(ByteReader(payload), 1.0F, out);
  return out;
}

/// Packs digits from 0 to 2 as 3LC says: padded with zeros and cut into five parts, of which each
/// byte combines one digit each.
inline std::vector<std::uint8_t> plain_quartic(std::vector<int> digits) {
  while (digits.size() % 5 != 0) digits.push_back(0);
  std::vector<std::uint8_t> bytes(digits.size() / 5);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    int byte = 0;
    for (std::size_t part = 0; part < 5; ++part) byte = 3 * byte + digits[part * bytes.size() + i];
    bytes[i] = static_cast<std::uint8_t>(byte);
  }
  return bytes;
}

/// The value of a payload's bytes at `at`.
template <class T>
T read(std::span<const std::byte> payload, std::size_t at) {
  T value;
  std::memcpy(&value, payload.subspan(at, sizeof value).data(), sizeof value);
  return value;
}

}  // namespace thinpipe::testing
