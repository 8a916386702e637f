// One bit a value and the mean magnitude of all.
#include "compressors/encode/scale.h"
#include "compressors/encode/value_codec.h"
#include "compressors/kernels/value_sum.h"

namespace thinpipe {
namespace {

class SignCodec : public ValueCodec {
 public:
  std::size_t size(std::size_t count) const override {
    return count == 0 ? 0 : sizeof(float) + (count + 7) / 8;
  }
  void encode(std::span<float> values, ByteWriter& out) const override {
    if (values.empty()) return;
    const double sum = sum_of_values(
        values.size(), [&](std::size_t i) { return static_cast<double>(std::fabs(values[i])); });
    const float mean = finite(sum / static_cast<double>(values.size()));
    out.put(mean);
    for (std::size_t first = 0; first < values.size(); first += 8) {
      unsigned byte = 0;
      for (std::size_t i = first; i < std::min(first + 8, values.size()); ++i) {
        const bool negative = values[i] < 0;
        byte |= static_cast<unsigned>(negative) << (i - first);
        values[i] = negative ? -mean : mean;
      }
      out.put(static_cast<std::uint8_t>(byte));
    }
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    if (values.empty()) return;
    float mean = 0;
    std::memcpy(&mean, encoded.data(), sizeof mean);
    check_scale(mean, "the mean magnitude of the values");
    const std::byte* bytes = encoded.data() + sizeof mean;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto byte = static_cast<unsigned>(bytes[(first + i) / 8]);
      values[i] = ((byte >> ((first + i) % 8)) & 1) != 0 ? -mean : mean;
    }
  }
  double expected_bits() const override { return 1; }
};

}  // namespace

std::unique_ptr<ValueCodec> make_sign_codec() { return std::make_unique<SignCodec>(); }

}  // namespace thinpipe
