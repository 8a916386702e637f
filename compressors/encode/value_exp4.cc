// A sign and three bits of exponent below the greatest (Tsuzuku et al., section 4.2).
#include "compressors/encode/exp4.h"
#include "compressors/encode/value_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace thinpipe {
namespace {

int greatest_exponent_of(std::span<const float> values) {
  float most = 0;
  for (float value : values) most = std::max(most, std::fabs(value));  // a NaN never wins
  return greatest_exponent(std::bit_cast<std::uint32_t>(most));
}

class Exp4Codec : public ValueCodec {
 public:
  std::size_t admit(std::span<std::uint32_t> positions, std::span<float> values) const override {
    const int greatest = greatest_exponent_of(values);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      positions[kept] = positions[i];
      values[kept] = values[i];
      kept += exponent_below(values[i], greatest) <= kMostBelow ? 1 : 0;
    }
    return kept;
  }
  std::size_t size(std::size_t count) const override {
    return count == 0 ? 0 : sizeof(std::int16_t) + (count + 1) / 2;
  }
  void encode(std::span<float> values, ByteWriter& out) const override {
    if (values.empty()) return;
    const int greatest = greatest_exponent_of(values);
    out.put(static_cast<std::int16_t>(greatest));
    for (std::size_t first = 0; first < values.size(); first += 2) {
      unsigned byte = 0;
      for (std::size_t i = first; i < std::min(first + 2, values.size()); ++i) {
        const unsigned code = exp4_code(values[i], greatest);
        byte |= code << (4 * (i - first));
        values[i] = exp4_decoded(code, greatest);
      }
      out.put(static_cast<std::uint8_t>(byte));
    }
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    if (values.empty()) return;
    std::int16_t greatest = 0;
    std::memcpy(&greatest, encoded.data(), sizeof greatest);
    if (greatest < kMinExponent || greatest > kMaxExponent) {
      throw PayloadError("the greatest exponent in the payload is " + std::to_string(greatest) +
                         "; expected -149 to 127");
    }
    float table[16];
    for (unsigned code = 0; code < 16; ++code) table[code] = exp4_decoded(code, greatest);
    const std::byte* codes = encoded.data() + sizeof greatest;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto byte = static_cast<unsigned>(codes[(first + i) / 2]);
      values[i] = table[(byte >> (4 * ((first + i) % 2))) & 15];
    }
  }
  double expected_bits() const override { return 4; }
};

}  // namespace

std::unique_ptr<ValueCodec> make_exp4_codec() { return std::make_unique<Exp4Codec>(); }

}  // namespace thinpipe
