// Values as 32-bit floats, 16-bit floats and 8-bit integers, or in few bits; and the list of these
// codecs.
#include "compressors/encode/value_codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "compressors/element_type.h"
#include "compressors/encode/value_codes.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/sums.h"
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
template <HalfFormat kFormat>
class HalfCodec : public ValueCodec {
 public:
  std::size_t size(std::size_t count) const override { return count * sizeof(std::uint16_t); }
  void encode(std::span<float> values, ByteWriter& out) const override {
    for (float& value : values) {
      const std::uint16_t half = to_half(value, kFormat);
      out.put(half);
      value = from_half(half, kFormat);
    }
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    const std::byte* from = encoded.data() + first * sizeof(std::uint16_t);
    for (float& value : values) {
      std::uint16_t half = 0;
      std::memcpy(&half, from, sizeof half);
      from += sizeof half;
      if (!is_finite_half(half, kFormat))
        throw PayloadError("a value in the payload is not finite");
      value = from_half(half, kFormat);
    }
  }
  double expected_bits() const override { return 16; }
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

/// Writes the code of every value, kBits each, lowest bits first. code(value) returns the code and
/// replaces the value by the one that receivers decode.
template <unsigned kBits, class Code>
void put_codes(std::span<float> values, ByteWriter& out, Code code) {
  constexpr std::size_t kCodes = 8 / kBits;
  for (std::size_t first = 0; first < values.size(); first += kCodes) {
    unsigned byte = 0;
    for (std::size_t i = first; i < std::min(first + kCodes, values.size()); ++i) {
      byte |= code(values[i]) << (kBits * (i - first));
    }
    out.put(static_cast<std::uint8_t>(byte));
  }
}

/// Returns code i of such an array.
template <unsigned kBits>
unsigned code_at(const std::byte* codes, std::size_t i) {
  constexpr std::size_t kCodes = 8 / kBits;
  return static_cast<unsigned>(codes[i / kCodes]) >> (kBits * (i % kCodes)) & ((1U << kBits) - 1);
}

// Two bits per value: its sign and whether its magnitude reaches the mean of its group.

constexpr std::size_t kGroup = kInt2Group;
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
  static Int2Levels levels_of(std::span<const float> values) {
    double sums[kInt2Lanes] = {};
    for (std::size_t i = 0; i < values.size(); ++i) {
      sums[i % kInt2Lanes] += int2_magnitude(values[i]);
    }
    Int2Levels levels;
    for (double sum : sums) levels.mean += sum;
    levels.mean /= static_cast<double>(values.size());
    Int2Sum lanes[2][kInt2Lanes];
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double magnitude = int2_magnitude(values[i]);
      lanes[magnitude < levels.mean ? 0 : 1][i % kInt2Lanes].add({magnitude, 1});
    }
    Int2Sum low;
    for (const Int2Sum& lane : lanes[0]) low.add(lane);
    Int2Sum high;
    for (const Int2Sum& lane : lanes[1]) high.add(lane);
    levels.low = low.mean();
    levels.high = high.mean();
    return levels;
  }

  static void encode_group(std::span<float> values, ByteWriter& out) {
    const Int2Levels levels = levels_of(values);
    out.put(levels.low);
    out.put(levels.high);
    put_codes<2>(values, out, [&](float& value) {
      const unsigned code = levels.code(value);
      value = levels.value(code);
      return code;
    });
  }

  static void decode_group(const std::byte* group, std::size_t first, std::span<float> values) {
    Int2Levels levels;
    std::memcpy(&levels.low, group, sizeof levels.low);
    std::memcpy(&levels.high, group + sizeof levels.low, sizeof levels.high);
    check_scale(levels.low, "a lower level of the values");
    check_scale(levels.high, "an upper level of the values");
    const std::byte* codes = group + kLevelBytes;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = levels.value(code_at<2>(codes, first + i));
    }
  }
};

// A sign and three bits of exponent below the greatest (Tsuzuku et al., section 4.2).

int greatest_exponent_of(std::span<const float> values) {
  float most = 0;
  for (float value : values) most = std::max(most, std::fabs(value));  // never takes a NaN
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
      kept += exponent_below(values[i], greatest) <= kMaxBelow ? 1 : 0;
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
    put_codes<4>(values, out, [&](float& value) {
      const unsigned code = exp4_code(value, greatest);
      value = exp4_decoded(code, greatest);
      return code;
    });
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
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = table[code_at<4>(codes, first + i)];
  }
  double expected_bits() const override { return 4; }
};

/// Writes one bit per value and the mean magnitude of all.
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
    put_codes<1>(values, out, [&](float& value) {
      const bool negative = value < 0;
      value = negative ? -mean : mean;
      return negative ? 1U : 0U;
    });
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    if (values.empty()) return;
    float mean = 0;
    std::memcpy(&mean, encoded.data(), sizeof mean);
    check_scale(mean, "the mean magnitude of the values");
    const std::byte* codes = encoded.data() + sizeof mean;
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = code_at<1>(codes, first + i) != 0 ? -mean : mean;
    }
  }
  double expected_bits() const override { return 1; }
};

/// Writes one value for all (SBC alg. 2).
class MeanCodec : public ValueCodec {
 public:
  std::size_t size(std::size_t count) const override { return count == 0 ? 0 : sizeof(float); }
  void encode(std::span<float> values, ByteWriter& out) const override {
    if (values.empty()) return;
    const double sum =
        sum_of_values(values.size(), [&](std::size_t i) { return static_cast<double>(values[i]); });
    const float mean = one_nan(static_cast<float>(sum / static_cast<double>(values.size())));
    out.put(mean);
    std::fill(values.begin(), values.end(), mean);
  }
  void decode(std::span<const std::byte> encoded, std::size_t /*first*/,
              std::span<float> values) const override {
    if (values.empty()) return;
    float mean = 0;
    std::memcpy(&mean, encoded.data(), sizeof mean);
    std::fill(values.begin(), values.end(), mean);
  }
  double expected_bits() const override { return 0; }
};

/// Writes signs, eight to a byte.
class TauCodec : public ValueCodec {
 public:
  explicit TauCodec(float tau) : tau_(tau) {}

  std::size_t size(std::size_t count) const override { return (count + 7) / 8; }
  void encode(std::span<float> values, ByteWriter& out) const override {
    put_codes<1>(values, out, [&](float& value) {
      const bool negative = std::signbit(value);
      value = negative ? -tau_ : tau_;
      return negative ? 1U : 0U;
    });
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = code_at<1>(encoded.data(), first + i) != 0 ? -tau_ : tau_;
    }
  }
  double expected_bits() const override { return 1; }

 private:
  float tau_;
};

template <class Codec>
std::unique_ptr<ValueCodec> make_values() {
  return std::make_unique<Codec>();
}

constexpr std::pair<const char*, std::unique_ptr<ValueCodec> (*)()> kValueCodecs[] = {
    {"fp32", make_values<Fp32Codec>},
    {"fp16", make_values<HalfCodec<HalfFormat::kFp16>>},
    {"bf16", make_values<HalfCodec<HalfFormat::kBf16>>},
    {"int8", make_values<Int8Codec>},
    {"int2", make_values<Int2Codec>},
    {"exp4", make_values<Exp4Codec>},
    {"sign", make_values<SignCodec>},
    {"mean", make_values<MeanCodec>}};

}  // namespace

std::unique_ptr<ValueCodec> make_tau_codec(float tau) { return std::make_unique<TauCodec>(tau); }

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
