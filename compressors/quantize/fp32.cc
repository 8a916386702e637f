// The array itself.
#include "compressors/quantize/fp32.h"

#include <algorithm>

namespace thinpipe {
namespace {

class Fp32Quantizer : public Quantizer {
 public:
  std::size_t max_encoded_size(std::size_t elements) const override {
    return elements * sizeof(float);
  }
  QuantizeReport encode(std::span<const float> c, const QuantizeContext& /*context*/,
                        std::span<float> remainder, ByteWriter& out) override {
    out.put_bytes(std::as_bytes(c));
    std::fill(remainder.begin(), remainder.end(), 0.0F);
    return {.nonzero = c.size(), .passes = 1};
  }
  void decode_add(ByteReader in, float factor, std::span<float> out) const override {
    const std::byte* values = in.get_bytes(out.size_bytes(), "values").data();
    in.expect_end();
    // A payload may lie at any address.
    for (std::size_t i = 0; i < out.size(); ++i) {
      float value = 0;
      std::memcpy(&value, values + i * sizeof value, sizeof value);
      out[i] += factor * value;
    }
  }
};

}  // namespace

std::unique_ptr<Quantizer> make_fp32_quantizer() { return std::make_unique<Fp32Quantizer>(); }

}  // namespace thinpipe
