// 255 equal levels up to the greatest magnitude (the "8-bit int" of 3LC section 5.1).
#include "compressors/encode/scale.h"
#include "compressors/encode/value_codec.h"

namespace thinpipe {
namespace {

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

}  // namespace

std::unique_ptr<ValueCodec> make_int8_codec() { return std::make_unique<Int8Codec>(); }

}  // namespace thinpipe
