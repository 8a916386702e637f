// Each quantiser against a plain version of METHODS and docs/wire-format.md.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compressors/methods/quantizers.h"
#include "compressors/wire/scale.h"
#include "tests/compressors/support/parts.h"

namespace thinpipe {
namespace {

using testing::dequantize;
using testing::largest_magnitude;
using testing::quantize;
using testing::read;

std::unique_ptr<Quantizer> whole(std::unique_ptr<BucketCodec> codec) {
  return make_bucket_quantizer(std::move(codec), {0, 5});
}

/// The means of the values below 0 and of the others.
class SideMeans {
 public:
  void add(float value) {
    sums_[value < 0] += static_cast<double>(value);
    ++counts_[value < 0];
  }
  /// Returns 0 for a side without values.
  double of(bool below) const { return counts_[below] == 0 ? 0 : sums_[below] / counts_[below]; }

 private:
  double sums_[2] = {0, 0};
  double counts_[2] = {0, 0};
};

/// Bit i of the bits that begin at byte `from` of a payload.
int bit_of(std::span<const std::byte> payload, std::size_t from, std::size_t i) {
  return static_cast<int>(payload[from + i / 8]) >> (i % 8) & 1;
}

TEST(References, HalvesAreTheNearest) {
  for (const auto& [name, c] : testing::part_inputs()) {
    for (HalfFormat format : {HalfFormat::kFp16, HalfFormat::kBf16}) {
      const auto result = quantize(*whole(make_half_bucket(format)), c);
      ASSERT_EQ(result.payload.size(), 2 * c.size());
      for (std::size_t i = 0; i < c.size(); ++i) {
        ASSERT_EQ(read<std::uint16_t>(result.payload, 2 * i), to_half(c[i], format)) << name;
      }
    }
  }
}

TEST(References, Int8) {
  for (const auto& [name, c] : testing::part_inputs()) {
    SCOPED_TRACE(name);
    if (c.empty()) continue;
    const auto result = quantize(*whole(make_int8_bucket()), c);
    ASSERT_EQ(result.payload.size(), 4 + c.size());
    const auto step = read<float>(result.payload, 0);
    const double most = largest_magnitude(c);
    ASSERT_NEAR(step, most / 127, 1e-6 * most / 127 + 0x1p-126);
    for (std::size_t i = 0; i < c.size(); ++i) {
      const auto code = read<std::int8_t>(result.payload, 4 + i);
      const double exact = step == 0 ? 0 : static_cast<double>(c[i]) / static_cast<double>(step);
      // The nearest; the product with a rounded reciprocal may decide a near tie otherwise.
      ASSERT_LE(std::fabs(code - exact), 0.5 + 127 * 0x1p-22) << i;
      ASSERT_GE(code, -127);
    }
  }
  const std::vector<float> c = {-127, 1.5F, 2.5F, 0.4F, -0.5F};
  const auto int8 = whole(make_int8_bucket());
  EXPECT_EQ(dequantize(*int8, quantize(*int8, c).payload, 5),
            (std::vector<float>{-127, 2, 2, 0, 0}));
}

TEST(References, TwoMeans) {
  for (const auto& [name, c] : testing::part_inputs()) {
    SCOPED_TRACE(name);
    if (c.empty()) continue;
    SideMeans means;
    double total = 0;
    for (float value : c) {
      means.add(value);
      total += std::fabs(static_cast<double>(value));
    }
    const auto result = quantize(*whole(make_two_means_bucket()), c);
    ASSERT_EQ(result.payload.size(), 8 + (c.size() + 7) / 8);
    for (bool below : {false, true}) {
      const double mean = means.of(below);
      // Partial sums of 64 floats, and the last rounding; a denormal has none to spare.
      ASSERT_NEAR(read<float>(result.payload, below ? 4 : 0), mean,
                  std::fabs(mean) * 128 * 0x1p-24 + 1e-45);
    }
    const auto magnitude = quantize(*whole(make_mean_magnitude_bucket()), c);
    const auto plain = quantize(*whole(make_sign_bucket(2)), c);
    for (std::size_t i = 0; i < c.size(); ++i) {
      const int expected = c[i] < 0 ? 1 : 0;
      ASSERT_EQ(bit_of(result.payload, 8, i), expected);
      ASSERT_EQ(bit_of(magnitude.payload, 4, i), expected);
      ASSERT_EQ(bit_of(plain.payload, 0, i), expected);
    }
    if (name.starts_with("huge")) continue;  // the sum of all magnitudes is over a float's range
    const double mean = total / static_cast<double>(c.size());
    ASSERT_NEAR(read<float>(magnitude.payload, 0), mean, mean * 128 * 0x1p-24 + 1e-45);
  }
}

TEST(References, ColumnMeans) {
  for (std::size_t rows : {1UL, 3UL, 64UL, 65UL, 200UL}) {
    for (std::size_t columns : {2UL, 5UL, 27UL, 64UL, 1100UL}) {
      const auto c = testing::heavy(rows * columns, rows);
      const auto quantizer = make_column_means_quantizer(
          {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)}, c.size());
      const auto result = quantize(*quantizer, c);
      ASSERT_EQ(result.payload.size(), 8 * columns + (c.size() + 7) / 8);
      const auto decoded = dequantize(*quantizer, result.payload, c.size());
      for (std::size_t j = 0; j < columns; ++j) {
        SideMeans means;
        for (std::size_t i = 0; i < rows; ++i) means.add(c[i * columns + j]);
        for (std::size_t i = 0; i < rows; ++i) {
          const double mean = means.of(c[i * columns + j] < 0);
          ASSERT_NEAR(decoded[i * columns + j], mean, std::fabs(mean) * 64 * 0x1p-24);
        }
      }
    }
  }
  // Fewer than two dimensions: one column, with the payload of the whole tensor.
  const auto c = testing::heavy(100, 1);
  EXPECT_EQ(quantize(*make_column_means_quantizer({100}, 100), c).payload,
            quantize(*whole(make_two_means_bucket()), c).payload);
}

TEST(References, Stoch3) {
  for (const auto& [name, c] : testing::part_inputs()) {
    SCOPED_TRACE(name);
    const auto result =
        quantize(*make_ternary_quantizer(c.size(), {1, false, true, 5}), c, {.step = 2});
    ASSERT_EQ(result.payload.size(), 4 + (c.size() + 4) / 5);
    const auto scale = read<float>(result.payload, 0);
    ASSERT_EQ(scale, static_cast<float>(largest_magnitude(c)));
    std::vector<int> digits;
    for (std::size_t i = 0; i < c.size(); ++i) {
      const float uniform = counter_uniform(random_key(5, 2), static_cast<std::uint32_t>(i));
      const bool sent = uniform * scale < std::fabs(c[i]);
      digits.push_back(1 + (sent ? (c[i] < 0 ? -1 : 1) : 0));
    }
    const auto bytes = testing::plain_quartic(digits);
    for (std::size_t j = 0; j < bytes.size(); ++j) {
      ASSERT_EQ(read<std::uint8_t>(result.payload, 4 + j), bytes[j]);
    }
  }
}

/// Level and sign as the wire format has them, from a payload's code.
void expect_codes(const std::vector<float>& c, std::size_t first, float step, int bits,
                  std::span<const std::byte> codes, std::uint64_t when) {
  const int levels = (1 << (bits - 1)) - 1;
  for (std::size_t i = 0; i < c.size(); ++i) {
    int code = 0;
    for (int bit = 0; bit < bits; ++bit) {
      const std::size_t at = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(bit);
      code |= bit_of(codes, 0, at) << bit;
    }
    const float scaled = step == 0 ? 0 : std::fabs(c[i]) * (1 / step);
    // y in units of 2^(bits - 24), to the nearest; u likewise, from the element's random bits.
    const double unit = std::ldexp(1.0, 24 - bits);
    const double y = std::nearbyint(std::min(static_cast<double>(scaled), double(levels)) * unit);
    const auto u = static_cast<double>(paired_random(random_key(5, when), first + i) >> (8 + bits));
    const int level = static_cast<int>(std::floor((y + u) / unit));
    ASSERT_EQ(code, level | (level != 0 && c[i] < 0 ? levels + 1 : 0)) << i;
    // Within one level of the exact value.
    ASSERT_LE(std::fabs(level - static_cast<double>(scaled)), 1.0 + 1e-6);
  }
}

TEST(References, Qsgd) {
  // The norms of huge values are over a float's range.
  for (const auto& [name, c] : testing::without_huge(testing::part_inputs())) {
    SCOPED_TRACE(name);
    for (int bits : {2, 3, 4, 8}) {
      constexpr std::size_t kBucket = 100;
      const auto fixed = make_bucket_quantizer(make_qsgd_bucket(bits), {kBucket, 5});
      const auto elias = make_bucket_quantizer(make_qsgd_elias_bucket(bits, kBucket), {kBucket, 5});
      const auto payload = quantize(*fixed, c, {.step = 4}).payload;
      const int levels = (1 << (bits - 1)) - 1;
      std::size_t at = 0;
      for (std::size_t first = 0; first < c.size(); first += kBucket) {
        const std::vector<float> bucket(
            c.begin() + static_cast<std::ptrdiff_t>(first),
            c.begin() + static_cast<std::ptrdiff_t>(std::min(first + kBucket, c.size())));
        double squares = 0;
        for (float value : bucket) squares += std::pow(static_cast<double>(value), 2);
        const auto step = read<float>(payload, at);
        if (squares > 1e-70) {
          ASSERT_NEAR(step / (std::sqrt(squares) / levels), 1, 1e-6);
        }
        expect_codes(bucket, first, step, bits, std::span(payload).subspan(at + 4), 4);
        at += 4 + (bucket.size() * static_cast<std::size_t>(bits) + 7) / 8;
      }
      ASSERT_EQ(at, payload.size());
      // Either coding decodes to the same.
      ASSERT_EQ(dequantize(*elias, quantize(*elias, c, {.step = 4}).payload, c.size()),
                dequantize(*fixed, payload, c.size()));
    }
  }
}

TEST(References, TernGrad) {
  for (const auto& [name, c] : testing::part_inputs()) {
    SCOPED_TRACE(name);
    if (c.empty()) continue;
    double sum = 0;
    for (float value : c) sum += static_cast<double>(value);
    const double mean = sum / static_cast<double>(c.size());
    double variance = 0;
    for (float value : c) variance += std::pow(static_cast<double>(value) - mean, 2);
    const double deviation = std::sqrt(variance / static_cast<double>(c.size()));
    for (double sigmas : {0.0, 1.0, 2.5}) {
      const auto quantizer = make_shared_terngrad_quantizer(sigmas, 5);
      const auto result = quantize(*quantizer, c, {.step = 4});
      const auto scale = read<float>(result.payload, 0);
      double expected = largest_magnitude(c);
      if (sigmas > 0 && deviation > 1e-5 * expected) {
        expected = std::min(expected, sigmas * deviation);
      }
      ASSERT_NEAR(scale, expected, 1e-6 * expected + 0x1p-126);
      ASSERT_EQ(dynamic_cast<const ScaleOf&>(*quantizer).scale_of(c), scale);
      ASSERT_EQ(result.payload.size(), 4 + (c.size() + 3) / 4);
      std::vector<float> clipped = c;
      for (float& value : clipped) value = std::clamp(value, -scale, scale);
      expect_codes(clipped, 0, scale, 2, std::span(result.payload).subspan(4), 4);
      // A greater scale of another worker replaces the own.
      const auto shared = quantize(*quantizer, c, {.step = 4, .shared_scale = 3e3F});
      ASSERT_EQ(read<float>(shared.payload, 0), 3e3F);
    }
  }
}

TEST(References, Natural) {
  for (const auto& [name, c] : testing::part_inputs()) {
    SCOPED_TRACE(name);
    const auto result = quantize(*whole(make_natural_bucket()), c, {.step = 6});
    ASSERT_EQ(result.payload.size(), c.size() + (c.size() + 7) / 8);
    for (std::size_t i = 0; i < c.size(); ++i) {
      const double magnitude = std::fabs(static_cast<double>(c[i]));
      // The power of two below, or 0 under the least normal number; and the fraction above it.
      const bool tiny = magnitude < 0x1p-126;
      const double lower = tiny ? 0 : std::exp2(std::floor(std::log2(magnitude)));
      const double upper = tiny ? 0x1p-126 : 2 * lower;
      const double share = (magnitude - lower) / (upper - lower);
      const std::uint32_t random = counter_random(random_key(5, 6), static_cast<std::uint32_t>(i));
      const bool up = share * 0x1p23 + static_cast<double>(random >> 9) >= 0x1p23;
      const double decoded = std::min(up ? upper : lower, 0x1p127);
      const auto exponent = read<std::uint8_t>(result.payload, i);
      ASSERT_EQ(exponent == 0 ? 0 : std::ldexp(1.0, exponent - 127), decoded) << i;
      ASSERT_EQ(bit_of(result.payload, c.size(), i) != 0, std::signbit(c[i]));
    }
  }
}

}  // namespace
}  // namespace thinpipe
