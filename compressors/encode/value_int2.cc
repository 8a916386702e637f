// Two bits a value: its sign and whether its magnitude is above the mean of its group.
#include <array>

#include "compressors/encode/scale.h"
#include "compressors/encode/value_codec.h"

namespace thinpipe {
namespace {

constexpr std::size_t kGroup = 512;
constexpr std::size_t kLevelBytes = 2 * sizeof(float);
constexpr std::size_t kGroupBytes = kLevelBytes + kGroup / 4;

class Int2Codec : public ValueCodec {
 public:
  std::size_t size(std::size_t count) const override {
    const std::size_t last = count % kGroup;
    return count / kGroup * kGroupBytes + (last == 0 ? 0 : kLevelBytes + (last + 3) / 4);
  }
  void encode(std::span<float> values, ByteWriter& out) const override {
    for (std::size_t first = 0; first < values.size(); first += kGroup) {
      encode_group(values.subspan(first, std::min(kGroup, values.size() - first)), out);
    }
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    std::size_t done = 0;
    while (done < values.size()) {
      const std::size_t at = first + done;
      const std::size_t within = at % kGroup;
      const std::size_t n = std::min(kGroup - within, values.size() - done);
      decode_group(encoded.data() + at / kGroup * kGroupBytes, within, values.subspan(done, n));
      done += n;
    }
  }
  double expected_bits() const override {
    return 2 + 8.0 * static_cast<double>(kLevelBytes) / static_cast<double>(kGroup);
  }

 private:
  /// The levels by code: bit 0 "high", bit 1 "negative".
  using Levels = std::array<float, 4>;

  static void encode_group(std::span<float> values, ByteWriter& out) {
    double sum = 0;
    for (float value : values) sum += magnitude(value);
    const double mean = sum / static_cast<double>(values.size());
    double high = 0;
    std::size_t highs = 0;
    for (float value : values) {
      if (magnitude(value) < mean) continue;
      high += magnitude(value);
      ++highs;
    }
    const std::size_t lows = values.size() - highs;
    const float up = highs == 0 ? 0.0F : finite(high / static_cast<double>(highs));
    double low = 0;
    for (float value : values) low += magnitude(value) < mean ? magnitude(value) : 0;
    const float down = lows == 0 ? 0.0F : finite(low / static_cast<double>(lows));
    const Levels levels = {down, up, -down, -up};
    out.put(down);
    out.put(up);
    for (std::size_t first = 0; first < values.size(); first += 4) {
      unsigned byte = 0;
      for (std::size_t i = first; i < std::min(first + 4, values.size()); ++i) {
        const unsigned code = (magnitude(values[i]) < mean ? 0U : 1U) | (values[i] < 0 ? 2U : 0U);
        byte |= code << (2 * (i - first));
        values[i] = levels[code];
      }
      out.put(static_cast<std::uint8_t>(byte));
    }
  }

  static void decode_group(const std::byte* group, std::size_t first, std::span<float> values) {
    float down = 0;
    float up = 0;
    std::memcpy(&down, group, sizeof down);
    std::memcpy(&up, group + sizeof down, sizeof up);
    check_scale(down, "a lower level of the values");
    check_scale(up, "an upper level of the values");
    const Levels levels = {down, up, -down, -up};
    const std::byte* codes = group + kLevelBytes;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto byte = static_cast<unsigned>(codes[(first + i) / 4]);
      values[i] = levels[(byte >> (2 * ((first + i) % 4))) & 3];
    }
  }

  /// |x|; a NaN counts as 0 and an infinity as the greatest float, so that sums stay numbers.
  static double magnitude(float x) {
    return std::fabs(static_cast<double>(finite(static_cast<double>(x))));
  }
};

}  // namespace

std::unique_ptr<ValueCodec> make_int2_codec() { return std::make_unique<Int2Codec>(); }

}  // namespace thinpipe
