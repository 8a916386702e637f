// Values as 16-bit floats.
#include "compressors/encode/half.h"
#include "compressors/encode/value_codec.h"

namespace thinpipe {
namespace {

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

}  // namespace

std::unique_ptr<ValueCodec> make_fp16_codec() {
  return std::make_unique<HalfCodec>(HalfFormat::kFp16);
}
std::unique_ptr<ValueCodec> make_bf16_codec() {
  return std::make_unique<HalfCodec>(HalfFormat::kBf16);
}

}  // namespace thinpipe
