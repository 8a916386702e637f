// Runs quantisers by themselves, without a pipeline.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compressors/quantize/quantizer.h"
#include "tests/compressors/support/inputs.h"

namespace thinpipe::testing {

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

/// All inputs, and the lengths around five partitions, seventy elements and 2^16.
inline std::vector<NamedInput> quantizer_inputs() {
  auto inputs = finite_inputs();
  for (std::size_t n : {4, 6, 69, 71, 65535, 65537}) {
    inputs.push_back({"heavy " + std::to_string(n), heavy(n, n)});
  }
  return inputs;
}

}  // namespace thinpipe::testing
