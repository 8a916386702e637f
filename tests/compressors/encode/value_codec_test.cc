// The contract of all value codecs, and the output of each one.
#include "compressors/encode/value_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "compressors/wire/scale.h"
#include "tests/base/support.h"
#include "tests/compressors/support/inputs.h"

namespace thinpipe {
namespace {

std::vector<std::byte> encoded(const ValueCodec& codec, std::vector<float>& values) {
  std::vector<std::byte> bytes(codec.size(values.size()));
  ByteWriter out(bytes);
  codec.encode(values, out);
  EXPECT_EQ(out.size(), bytes.size());
  return bytes;
}

std::vector<float> decoded(const ValueCodec& codec, std::span<const std::byte> bytes,
                           std::size_t count) {
  std::vector<float> values(count);
  codec.decode(bytes, 0, values);
  return values;
}

TEST(ValueCodec, DecodesWhatEncodeSaysItWill) {
  const auto inputs = testing::with_non_finite();
  for (const std::string& name : value_codec_names()) {
    const auto codec = make_value_codec(name);
    for (auto [input, values] : inputs) {
      SCOPED_TRACE(name + " of " + input);
      const std::size_t n = values.size();
      const auto bytes = encoded(*codec, values);
      std::vector<float> parts(n);
      codec->decode(bytes, 0, std::span(parts).first(n / 3));
      codec->decode(bytes, n / 3, std::span(parts).subspan(n / 3));
      ASSERT_EQ(testing::bits(parts), testing::bits(values));
      for (float value : values) {
        ASSERT_TRUE(name == "fp32" || name == "mean" || std::isfinite(value));
      }
    }
  }
}

TEST(ValueCodec, SizesAndValues) {
  const auto mean = make_value_codec("mean");
  EXPECT_EQ(mean->size(1000), 4U);
  EXPECT_EQ(mean->size(0), 0U);
  std::vector<float> values = {1, 2, 6};
  encoded(*mean, values);
  EXPECT_EQ(values, (std::vector<float>{3, 3, 3}));
  EXPECT_EQ(make_value_codec("fp32")->size(1000), 4000U);
  EXPECT_EQ(make_value_codec("fp16")->size(1000), 2000U);
  EXPECT_EQ(make_value_codec("bf16")->size(1000), 2000U);
  EXPECT_EQ(make_value_codec("int8")->size(1000), 1004U);
  EXPECT_EQ(make_value_codec("int2")->size(1000), 2 * 8 + 128 + 122U);
  EXPECT_EQ(make_value_codec("exp4")->size(1001), 2 + 501U);
  EXPECT_EQ(make_value_codec("sign")->size(1001), 4 + 126U);
  for (const std::string& name : value_codec_names()) {
    EXPECT_EQ(make_value_codec(name)->size(0), 0U);
    // Many values: the size in a listing.
    const auto codec = make_value_codec(name);
    EXPECT_NEAR(static_cast<double>(codec->size(1 << 20)) * 8 / (1 << 20), codec->expected_bits(),
                1e-3);
  }
  EXPECT_THROW(make_value_codec("fp31"), InputError);
}

TEST(ValueCodec, Int8IsTheNearestOf255Levels) {
  for (auto [name, values] : testing::finite_inputs()) {
    if (values.empty() || name.starts_with("denormals") || name.starts_with("huge")) continue;
    SCOPED_TRACE(name);
    const double most = testing::largest_magnitude(values);
    const auto before = values;
    encoded(*make_value_codec("int8"), values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      // Half a level, and the largest error of three float roundings of a quotient up to 127.
      ASSERT_NEAR(values[i], before[i], most / 127 * (0.5 + 3 * 127 * 0x1p-24));
    }
  }
  std::vector<float> values = {-127, 1.5F, 2.5F, 0.4F};  // ties to even
  encoded(*make_value_codec("int8"), values);
  EXPECT_EQ(values, (std::vector<float>{-127, 2, 2, 0}));
}

TEST(ValueCodec, AMeanThatIsNoNumberIsOneNan) {
  // The sum of infinities of both signs is a NaN whose bits depend on the CPU, and a NaN among the
  // values may have any bits. Both must be encoded as the same NaN.
  const auto one_nan = bytes_of({0, 0, 0xc0, 0x7f});
  const auto mean = make_value_codec("mean");
  std::vector<float> infinities = {testing::kInfinity, -testing::kInfinity};
  EXPECT_EQ(encoded(*mean, infinities), one_nan);
  std::vector<float> nan = {1, -testing::kNan};
  EXPECT_EQ(encoded(*mean, nan), one_nan);
}

TEST(ValueCodec, SignIsTheMeanMagnitude) {
  std::vector<float> values = {1, -2, 6, -0.0F};
  encoded(*make_value_codec("sign"), values);
  EXPECT_EQ(values, (std::vector<float>{2.25F, -2.25F, 2.25F, 2.25F}));
}

TEST(ValueCodec, Int2IsTheMeanOfEachHalfOfAGroup) {
  // The mean magnitude is 3: below it 1 and 2, else 3 and 6.
  std::vector<float> values = {1, -2, 6, -3};
  encoded(*make_value_codec("int2"), values);
  EXPECT_EQ(values, (std::vector<float>{1.5F, -1.5F, 4.5F, -4.5F}));
  // The next group has levels of its own; all of one magnitude are exact.
  values.assign(513, -7);
  values[512] = 0.5F;
  const auto before = values;
  encoded(*make_value_codec("int2"), values);
  EXPECT_EQ(values, before);
}

TEST(ValueCodec, Exp4WorkedExample) {
  // Tsuzuku et al., appendix B: exponents dropped, 7, 2, 1, 0 below 2^5.
  std::vector<float> values = {0.04F, 0.31F, -6.25F, 22.25F, -35.75F};
  std::vector<std::uint32_t> positions = {3, 5, 8, 13, 21};
  const auto codec = make_value_codec("exp4");
  ASSERT_EQ(codec->admit(positions, values), 4U);
  values.resize(4);
  EXPECT_EQ(values, (std::vector<float>{0.31F, -6.25F, 22.25F, -35.75F}));
  EXPECT_EQ(std::vector<std::uint32_t>(positions.begin(), positions.begin() + 4),
            (std::vector<std::uint32_t>{5, 8, 13, 21}));
  EXPECT_EQ(encoded(*codec, values), bytes_of({5, 0, 0xa7, 0x81}));
  EXPECT_EQ(values, (std::vector<float>{0.25F, -8, 16, -32}));
}

TEST(ValueCodec, Exp4IsTheNearerPowerOfTwo) {
  for (auto [name, values] : testing::finite_inputs()) {
    SCOPED_TRACE(name);
    const double most = testing::largest_magnitude(values);
    const double top = most == 0 ? 0 : std::exp2(std::floor(std::log2(most)));
    std::vector<float> kept;
    std::vector<float> rounded;
    for (float value : values) {
      const double magnitude = std::fabs(static_cast<double>(value));
      if (magnitude == 0) continue;
      const double lower = std::exp2(std::floor(std::log2(magnitude)));
      const double nearer = magnitude - lower < 2 * lower - magnitude ? lower : 2 * lower;
      const double power = magnitude > top ? top : nearer;
      if (top / power > 128) continue;
      kept.push_back(value);
      rounded.push_back(static_cast<float>(value < 0 ? -power : power));
    }
    std::vector<std::uint32_t> positions(values.size());
    const auto codec = make_value_codec("exp4");
    values.resize(codec->admit(positions, values));
    ASSERT_EQ(values, kept);
    encoded(*codec, values);
    ASSERT_EQ(values, rounded);
  }
}

TEST(ValueCodec, RefuseScalesThatNoWriterMakes) {
  const auto expect_refused = [](const char* name, auto scale) {
    std::vector<float> values = {1, 2, 3};
    auto bytes = encoded(*make_value_codec(name), values);
    std::memcpy(bytes.data(), &scale, sizeof scale);
    EXPECT_THROW(decoded(*make_value_codec(name), bytes, 3), PayloadError) << name << scale;
  };
  for (const char* name : {"int8", "sign", "int2"}) {
    for (float scale : {testing::kNan, testing::kInfinity, -1.0F, -0.0F}) {
      expect_refused(name, scale);
    }
  }
  for (std::int16_t exponent : {-150, 128, 1000}) expect_refused("exp4", exponent);
  expect_refused("fp16", std::uint16_t{0x7c00});  // infinity
  expect_refused("bf16", std::uint16_t{0xff81});  // a NaN
}

TEST(ValueCodec, StepsOfLevelsNeverOverflow) {
  constexpr float kMax = std::numeric_limits<float>::max();
  for (float levels : {1.0F, 7.0F, 127.0F}) {
    for (float largest : {kMax, testing::kInfinity, testing::kNan,
                          std::numeric_limits<float>::denorm_min(), 1.0F}) {
      const float step = level_step(largest, levels);
      EXPECT_GT(step, 0);
      EXPECT_TRUE(std::isfinite(levels * step));
      EXPECT_TRUE(std::isfinite(1 / step));
    }
    EXPECT_EQ(level_step(0, levels), 0);
  }
}

TEST(TauCodec, OneBitAValue) {
  // The signs are + - - + + + - + - -. A negative value sets its bit: the second, third and seventh
  // bit of the first byte, and both bits of the second byte.
  std::vector<float> values = {2, -2, -0.5F, 3, 0, 1, -1, 1, -2, -2};
  const auto codec = make_tau_codec(0.5F);
  const auto bytes = encoded(*codec, values);
  EXPECT_EQ(bytes, bytes_of({0b01000110, 0b11}));
  const std::vector<float> expected = {0.5, -0.5, -0.5, 0.5, 0.5, 0.5, -0.5, 0.5, -0.5, -0.5};
  EXPECT_EQ(values, expected);
  for (std::size_t first = 0; first < expected.size(); ++first) {
    std::vector<float> some(expected.size() - first);
    codec->decode(bytes, first, some);
    EXPECT_EQ(some, std::vector<float>(expected.begin() + static_cast<std::ptrdiff_t>(first),
                                       expected.end()));
  }
  EXPECT_EQ(codec->size(0), 0U);
  EXPECT_EQ(codec->size(8), 1U);
}

}  // namespace
}  // namespace thinpipe
