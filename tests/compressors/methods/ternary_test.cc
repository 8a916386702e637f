// 3LC: zero runs; buckets against the wire format; payloads that do not conform to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "compressors/kernels/quantize.h"
#include "compressors/kernels/random.h"
#include "compressors/methods/quantizers.h"
#include "tests/base/support.h"
#include "tests/compressors/support/parts.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::read;

using Packed = std::vector<std::uint8_t>;

Packed encode(const Packed& packed) {
  Packed out(packed.size());
  out.resize(zero_run_encode(packed.data(), packed.size(), out.data()));
  return out;
}

/// Returns quartic bytes with runs of zeros written out.
template <class Codes>
Packed unfolded(const Codes& codes) {
  Packed bytes;
  for (const auto code : codes) {
    const auto value = static_cast<std::uint8_t>(code);
    if (value <= 242) bytes.push_back(value);
    if (value > 242) bytes.insert(bytes.end(), value - 241U, std::uint8_t{121});
  }
  return bytes;
}

TEST(ZeroRun, RunsAsThePaperSays) {
  EXPECT_EQ(encode({}), Packed{});
  EXPECT_EQ(encode({121}), Packed{121});
  EXPECT_EQ(encode({121, 121}), Packed{243});
  EXPECT_EQ(encode(Packed(14, 121)), Packed{255});
  EXPECT_EQ(encode(Packed(15, 121)), (Packed{255, 121}));
  EXPECT_EQ(encode(Packed(16, 121)), (Packed{255, 243}));
  EXPECT_EQ(encode({0, 121, 242, 121, 121, 121, 7}), (Packed{0, 121, 242, 244, 7}));
}

TEST(ZeroRun, RoundTrip) {
  SplitMix64 random(2);
  for (int round = 0; round < 300; ++round) {
    Packed packed(random.below(200));
    const std::uint64_t mix = 1 + random.below(20);
    for (std::uint8_t& byte : packed) {
      byte = random.below(mix) == 0 ? static_cast<std::uint8_t>(random.below(243)) : 121;
    }
    ASSERT_EQ(unfolded(encode(packed)), packed);
  }
}

/// The plain form of a payload without zero runs: scales, then bytes; with the decoded values.
struct PlainTernary {
  std::vector<float> scales;
  std::vector<std::uint8_t> bytes;
  std::vector<float> decoded;
};

PlainTernary plain_ternary(const std::vector<float>& c, std::size_t bucket, float sparsity) {
  PlainTernary result;
  for (std::size_t at = 0; at < c.size(); at += bucket) {
    const std::size_t n = std::min(bucket, c.size() - at);
    float most = 0;
    for (std::size_t i = at; i < at + n; ++i) {
      const float magnitude = std::fabs(c[i]);
      most = magnitude <= most ? most : magnitude;  // a NaN stays
      if (std::isnan(magnitude)) break;
    }
    float scale = sparsity * most;
    if (!std::isfinite(scale)) scale = std::numeric_limits<float>::max();
    result.scales.push_back(scale);
    std::vector<int> digits(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double ratio = scale == 0 || std::isnan(c[at + i])
                               ? 0
                               : static_cast<double>(c[at + i]) / static_cast<double>(scale);
      const int q = std::fabs(ratio) < 0.5 ? 0 : ratio < 0 ? -1 : 1;
      digits[i] = q + 1;
      result.decoded.push_back(scale * static_cast<float>(q));
    }
    const Packed packed = testing::plain_quartic(digits);
    result.bytes.insert(result.bytes.end(), packed.begin(), packed.end());
  }
  return result;
}

TEST(TernaryBuckets, AreAsTheWireFormatSays) {
  const auto inputs = testing::with_non_finite(testing::part_inputs());
  testing::for_each_target_and_input(inputs, [](const std::vector<float>& c) {
    for (const std::size_t bucket : {1UL, 7UL, 80UL, 512UL, 640UL}) {
      for (const bool zero_run : {false, true}) {
        SCOPED_TRACE("buckets of " + std::to_string(bucket));
        // In one bucket the input's greatest magnitude may be looked at in another pass.
        if (c.size() <= bucket) continue;
        const PlainTernary expected = plain_ternary(c, bucket, 1.5F);
        const auto quantizer = make_ternary_quantizer(
            c.size(), {.sparsity = 1.5F, .zero_run = zero_run, .bucket = bucket});
        const auto result = testing::quantize(*quantizer, c);
        const std::size_t header = 4 * expected.scales.size();
        ASSERT_GE(result.payload.size(), header);
        for (std::size_t i = 0; i < expected.scales.size(); ++i) {
          ASSERT_EQ(read<float>(result.payload, 4 * i), expected.scales[i]) << i;
        }
        const auto codes = std::span(result.payload).subspan(header);
        ASSERT_EQ(unfolded(codes), expected.bytes);
        ASSERT_TRUE(zero_run || codes.size() == expected.bytes.size());
        ASSERT_EQ(testing::dequantize(*quantizer, result.payload, c.size()), expected.decoded);
      }
    }
  });
}

TEST(TernaryBuckets, OneBucketIsTheWholeTensor) {
  for (const auto& [name, c] : testing::part_inputs()) {
    if (c.empty()) continue;
    const auto whole = make_ternary_quantizer(c.size(), {});
    const auto one = make_ternary_quantizer(c.size(), {.bucket = c.size()});
    EXPECT_EQ(testing::quantize(*whole, c).payload, testing::quantize(*one, c).payload) << name;
  }
}

TEST(TernaryBuckets, AZeroTensorIsItsScalesAndRuns) {
  // 20 buckets of 70 elements make 280 bytes, which are 20 runs of 14.
  const std::vector<float> zeros(1400, 0.0F);
  const auto quantizer = make_ternary_quantizer(zeros.size(), {.bucket = 70});
  EXPECT_EQ(testing::quantize(*quantizer, zeros).payload.size(), 20 * 4 + 20);
  EXPECT_TRUE(testing::quantize(*make_ternary_quantizer(0, {.bucket = 70}), {}).payload.empty());
}

class BadPayload : public ::testing::Test {
 protected:
  /// Two buckets: six elements in two bytes, whose last digits stand for no element, and three.
  void expect_error(const std::vector<std::uint8_t>& codes, const char* problem,
                    float scale = 1) const {
    std::vector<std::byte> payload(8);
    std::memcpy(payload.data(), &scale, sizeof scale);
    std::memcpy(payload.data() + 4, &scale, sizeof scale);
    for (const std::uint8_t code : codes) payload.push_back(std::byte{code});
    EXPECT_THAT(error_text<PayloadError>([&] { testing::dequantize(*quantizer_, payload, 9); }),
                ::testing::HasSubstr(problem));
  }

  std::unique_ptr<Quantizer> quantizer_ = make_ternary_quantizer(9, {.bucket = 6});
};

TEST_F(BadPayload, IsRefused) {
  // The byte for zeros: digit 1 for each of three partitions of two elements, then digits 0, so 81
  // + 27 + 9. Three partitions of one element have the same byte.
  constexpr std::uint8_t kZeros = 117;
  std::vector<std::byte> good(8);
  for (int i = 0; i < 3; ++i) good.push_back(std::byte{kZeros});
  EXPECT_EQ(testing::dequantize(*quantizer_, good, 9), std::vector<float>(9, 0.0F));
  expect_error({kZeros, kZeros}, "fewer bytes");
  expect_error({kZeros, kZeros, kZeros, kZeros}, "more bytes");
  expect_error({kZeros, kZeros, kZeros, 243}, "run past the end");
  expect_error({243, kZeros}, "run past the end of a bucket");
  expect_error({121, kZeros, kZeros}, "padding is not zero");
  expect_error({kZeros, kZeros, 118}, "padding is not zero");
  expect_error({kZeros, kZeros, kZeros}, "the scale", -1.0F);
  expect_error({kZeros, kZeros, kZeros}, "the scale", testing::kInfinity);
}

}  // namespace
}  // namespace thinpipe
