// Values in few bits: two levels, exponents, signs, one mean for all.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "compressors/encode/value_codec.h"
#include "compressors/encode/value_codes.h"
#include "compressors/kernels/sums.h"
#include "compressors/wire/scale.h"

namespace thinpipe {
namespace {

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
    for (std::size_t first = 0; first < values.size(); first += 4) {
      unsigned byte = 0;
      for (std::size_t i = first; i < std::min(first + 4, values.size()); ++i) {
        const unsigned code = levels.code(values[i]);
        byte |= code << (2 * (i - first));
        values[i] = levels.value(code);
      }
      out.put(static_cast<std::uint8_t>(byte));
    }
  }

  static void decode_group(const std::byte* group, std::size_t first, std::span<float> values) {
    Int2Levels levels;
    std::memcpy(&levels.low, group, sizeof levels.low);
    std::memcpy(&levels.high, group + sizeof levels.low, sizeof levels.high);
    check_scale(levels.low, "a lower level of the values");
    check_scale(levels.high, "an upper level of the values");
    const std::byte* codes = group + kLevelBytes;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto byte = static_cast<unsigned>(codes[(first + i) / 4]);
      values[i] = levels.value((byte >> (2 * ((first + i) % 4))) & 3);
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
    for (std::size_t first = 0; first < values.size(); first += 8) {
      unsigned bits = 0;
      for (std::size_t i = first; i < std::min(first + 8, values.size()); ++i) {
        const bool negative = std::signbit(values[i]);
        bits |= (negative ? 1U : 0U) << (i - first);
        values[i] = negative ? -tau_ : tau_;
      }
      out.put(static_cast<std::uint8_t>(bits));
    }
  }
  void decode(std::span<const std::byte> encoded, std::size_t first,
              std::span<float> values) const override {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto bits = static_cast<unsigned>(encoded[(first + i) / 8]);
      values[i] = ((bits >> ((first + i) % 8)) & 1U) != 0 ? -tau_ : tau_;
    }
  }
  double expected_bits() const override { return 1; }

 private:
  float tau_;
};

}  // namespace

std::unique_ptr<ValueCodec> make_int2_codec() { return std::make_unique<Int2Codec>(); }

std::unique_ptr<ValueCodec> make_exp4_codec() { return std::make_unique<Exp4Codec>(); }

std::unique_ptr<ValueCodec> make_sign_codec() { return std::make_unique<SignCodec>(); }

std::unique_ptr<ValueCodec> make_mean_codec() { return std::make_unique<MeanCodec>(); }

std::unique_ptr<ValueCodec> make_tau_codec(float tau) { return std::make_unique<TauCodec>(tau); }

}  // namespace thinpipe
