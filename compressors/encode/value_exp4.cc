// A sign and three bits of exponent below the greatest (Tsuzuku et al., section 4.2).
#include "compressors/encode/value_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace thinpipe {
namespace {

constexpr int kMostBelow = 7;       ///< three bits
constexpr int kMinExponent = -149;  ///< of the least denormal
constexpr int kMaxExponent = 127;

/// log2 of |x| rounded to the nearer power of two, halves up; 0 < |x| < infinity.
int rounded_log2(float x) {
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7fffffff;
  // A one added to the mantissa's highest bit carries into the exponent from 1.5 on.
  if (magnitude >= 0x00800000) return static_cast<int>((magnitude + 0x00400000) >> 23) - 127;
  // A denormal is an integer times 2^-149.
  const int lower = std::bit_width(magnitude) - 1;
  const bool up = lower > 0 && ((magnitude >> (lower - 1)) & 1) != 0;
  return kMinExponent + lower + (up ? 1 : 0);
}

/// E = floor(log2(max |x|)) of those that are not NaN; kMinExponent when there is nothing but 0.
int greatest_exponent(std::span<const float> values) {
  float most = 0;
  for (float value : values) most = std::max(most, std::fabs(value));  // a NaN never wins
  if (most == 0) return kMinExponent;
  return std::isinf(most) ? kMaxExponent : std::ilogb(most);
}

/// e = E - log2, negative ones cut off; more than kMostBelow where the value is not sent.
int exponent_below(float value, int greatest) {
  if (value == 0 || std::isnan(value)) return kMostBelow + 1;
  if (std::isinf(value)) return 0;
  return std::max(0, greatest - rounded_log2(value));
}

class Exp4Codec : public ValueCodec {
 public:
  std::size_t admit(std::span<std::uint32_t> positions, std::span<float> values) const override {
    const int greatest = greatest_exponent(values);
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
    const int greatest = greatest_exponent(values);
    out.put(static_cast<std::int16_t>(greatest));
    for (std::size_t first = 0; first < values.size(); first += 2) {
      unsigned byte = 0;
      for (std::size_t i = first; i < std::min(first + 2, values.size()); ++i) {
        const auto below =
            static_cast<unsigned>(std::min(exponent_below(values[i], greatest), kMostBelow));
        const unsigned code = below | (std::signbit(values[i]) ? 8U : 0U);
        byte |= code << (4 * (i - first));
        values[i] = decoded(code, greatest);
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
    for (unsigned code = 0; code < 16; ++code) table[code] = decoded(code, greatest);
    const std::byte* codes = encoded.data() + sizeof greatest;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto byte = static_cast<unsigned>(codes[(first + i) / 2]);
      values[i] = table[(byte >> (4 * ((first + i) % 2))) & 15];
    }
  }
  double expected_bits() const override { return 4; }

 private:
  /// +-2^(E - e); 0 below the least denormal.
  static float decoded(unsigned code, int greatest) {
    const int exponent = greatest - static_cast<int>(code & 7);
    const float magnitude = exponent < kMinExponent ? 0.0F : std::ldexp(1.0F, exponent);
    return (code & 8) != 0 ? -magnitude : magnitude;
  }
};

}  // namespace

std::unique_ptr<ValueCodec> make_exp4_codec() { return std::make_unique<Exp4Codec>(); }

}  // namespace thinpipe
