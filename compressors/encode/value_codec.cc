// Values as 32-bit floats, 16-bit floats and 8-bit integers; and all value codecs by name.
#include "compressors/encode/value_codec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "compressors/element_type.h"
#include "compressors/kernels/parallel.h"
#include "compressors/wire/scale.h"

namespace thinpipe {
namespace {

/// Writes uncompressed values.
class Fp32Codec : public ValueCodec {
 public:
  std::size_t size(std::size_t count) const override { return count * sizeof(float); }
  void encode(std::span<float> values, ByteWriter& out) const override {
    copy_bytes(out.free().data(), values.data(), values.size_bytes());
    out.advance(values.size_bytes());
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    if (values.empty()) return;
    std::memcpy(values.data(), encoded.data() + first * sizeof(float), values.size_bytes());
  }
  bool verbatim() const override { return true; }
  double expected_bits() const override { return 32; }
};

/// Writes values as 16-bit floats.
class HalfCodec : public ValueCodec {
 public:
  explicit HalfCodec(HalfFormat format) : format_(format) {}

  std::size_t size(std::size_t count) const override { return count * sizeof(std::uint16_t); }
  void encode(std::span<float> values, ByteWriter& out) const override {
    for (float& value : values) {
      const std::uint16_t half = to_half(value, format_);
      out.put(half);
      value = from_half(half, format_);
    }
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    const std::byte* from = encoded.data() + first * sizeof(std::uint16_t);
    for (float& value : values) {
      std::uint16_t half = 0;
      std::memcpy(&half, from, sizeof half);
      from += sizeof half;
      if (!is_finite_half(half, format_))
        throw PayloadError("a value in the payload is not finite");
      value = from_half(half, format_);
    }
  }
  double expected_bits() const override { return 16; }

 private:
  HalfFormat format_;
};

// 255 equal levels up to the greatest magnitude (the "8-bit int" of 3LC section 5.1).

constexpr float kLevels = 127;

class Int8Codec : public ValueCodec {
 public:
  std::size_t size(std::size_t count) const override {
    return count == 0 ? 0 : sizeof(float) + count;
  }
  void encode(std::span<float> values, ByteWriter& out) const override {
    if (values.empty()) return;
    float largest = 0;
    for (float value : values) largest = std::max(largest, std::fabs(value));
    const float step = level_step(largest, kLevels);
    const float inverse = step == 0 ? 0 : 1 / step;
    out.put(step);
    for (float& value : values) {
      const float scaled = std::isnan(value) ? 0 : value * inverse;
      const float q = round_to_even(std::clamp(scaled, -kLevels, kLevels));
      out.put(static_cast<std::int8_t>(q));
      value = q * step;
    }
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    if (values.empty()) return;
    float step = 0;
    std::memcpy(&step, encoded.data(), sizeof step);
    check_scale(step, "the scale of the values");
    const std::byte* from = encoded.data() + sizeof step + first;
    for (float& value : values) {
      value = static_cast<float>(static_cast<std::int8_t>(*from++)) * step;
    }
  }
  double expected_bits() const override { return 8; }
};

using MakeValueCodec = std::unique_ptr<ValueCodec> (*)();
constexpr std::array<std::pair<const char*, MakeValueCodec>, 8> kValueCodecs = {
    {{"fp32", make_fp32_codec},
     {"fp16", make_fp16_codec},
     {"bf16", make_bf16_codec},
     {"int8", make_int8_codec},
     {"int2", make_int2_codec},
     {"exp4", make_exp4_codec},
     {"sign", make_sign_codec},
     {"mean", make_mean_codec}}};

}  // namespace

std::unique_ptr<ValueCodec> make_fp32_codec() { return std::make_unique<Fp32Codec>(); }

std::unique_ptr<ValueCodec> make_fp16_codec() {
  return std::make_unique<HalfCodec>(HalfFormat::kFp16);
}
std::unique_ptr<ValueCodec> make_bf16_codec() {
  return std::make_unique<HalfCodec>(HalfFormat::kBf16);
}

std::unique_ptr<ValueCodec> make_int8_codec() { return std::make_unique<Int8Codec>(); }

const std::vector<std::string>& value_codec_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, make] : kValueCodecs) list.emplace_back(name);
    return list;
  }();
  return names;
}

std::unique_ptr<ValueCodec> make_value_codec(const std::string& name) {
  for (const auto& [known, make] : kValueCodecs) {
    if (name == known) return make();
  }
  throw InputError("unknown value codec '" + name + "'");
}

}  // namespace thinpipe
