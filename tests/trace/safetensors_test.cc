// Files of tensors, the mapping that reads them, and hashes and halves of their values.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/base/support.h"
#include "workloads/trace/gradient_values.h"
#include "workloads/trace/mapped_file.h"
#include "workloads/trace/safetensors.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

std::string parse_error(const std::string& bytes) {
  return input_error([&] { parse_safetensors(bytes_of(bytes), "f"); });
}

std::string error_of(const std::string& header, std::size_t buffer) {
  return parse_error(safetensors_bytes(header, buffer));
}

TEST(Safetensors, PrologueIsPaddedAndParsesBack) {
  const std::vector<SafetensorsTensor> tensors = {{"b", {2, 3}}, {"a", {}}, {"c\"\\", {1}}};
  const std::string prologue = safetensors_prologue(tensors, {{"format", "x"}});
  EXPECT_EQ(prologue.size() % 64, 0U);
  const std::string file = prologue + std::string(4 * (6 + 1 + 1), '\0');
  const auto entries = parse_safetensors(bytes_of(file), "f");
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries.at("b").shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(entries.at("b").bytes.data(), bytes_of(file).data() + prologue.size());
  EXPECT_EQ(entries.at("a").bytes.size(), 4U);
  EXPECT_EQ(entries.at("c\"\\").bytes.data(), bytes_of(file).data() + prologue.size() + 28);
}

TEST(Safetensors, HeaderLengthIsHeldAgainstTheFile) {
  EXPECT_THAT(parse_error("abc"), HasSubstr("header length"));
  EXPECT_THAT(parse_error(std::string(8, '\xff')), HasSubstr("header length"));
  EXPECT_THAT(parse_error(std::string(8, '\xff') + "{}"), HasSubstr("18446744073709551615 bytes"));
  EXPECT_THAT(parse_error(std::string("\x03\0\0\0\0\0\0\0{}", 10)),
              HasSubstr("expected at most 2"));
  EXPECT_EQ(parse_error(std::string("\x02\0\0\0\0\0\0\0{}", 10)), "");
  EXPECT_THAT(parse_error(std::string(8, '\0')), HasSubstr("expected an object"));
}

TEST(Safetensors, OffsetsTileTheBuffer) {
  const auto two = [](const std::string& first, const std::string& second) {
    return R"({"a":{"dtype":"F32","shape":[1],"data_offsets":)" + first +
           R"(},"b":{"dtype":"F32","shape":[1],"data_offsets":)" + second + "}}";
  };
  EXPECT_EQ(error_of(two("[0,4]", "[4,8]"), 8), "");
  EXPECT_EQ(error_of(two("[4,8]", "[0,4]"), 8), "");
  EXPECT_THAT(error_of(two("[0,4]", "[2,6]"), 6), HasSubstr("overlaps"));
  EXPECT_THAT(error_of(two("[0,4]", "[0,4]"), 4), HasSubstr("overlaps"));
  EXPECT_THAT(error_of(two("[0,4]", "[8,12]"), 12), HasSubstr("gap"));
  EXPECT_THAT(error_of(two("[4,8]", "[8,12]"), 12), HasSubstr("gap"));
  EXPECT_THAT(error_of(two("[0,4]", "[4,8]"), 9), HasSubstr("holds 9"));
  EXPECT_THAT(error_of(two("[0,4]", "[4,8]"), 7), HasSubstr("data_offsets"));
  EXPECT_THAT(error_of(two("[4,0]", "[4,8]"), 8), HasSubstr("data_offsets"));
  EXPECT_THAT(error_of(two("[-4,0]", "[4,8]"), 8), HasSubstr("data_offsets"));
  EXPECT_THAT(error_of(two("[0]", "[4,8]"), 8), HasSubstr("two offsets"));
  EXPECT_THAT(error_of(two("[0,18446744073709551615]", "[4,8]"), 8), HasSubstr("data_offsets"));
  EXPECT_THAT(error_of(two("[0,5]", "[5,9]"), 9), HasSubstr("5 bytes, expected 1 elements of 4"));
}

TEST(Safetensors, HostileHeaders) {
  EXPECT_THAT(error_of("[]", 0), HasSubstr("expected an object"));
  EXPECT_THAT(error_of(" {}", 0), HasSubstr("expected an object"));
  EXPECT_THAT(error_of("{} x", 0), HasSubstr("not JSON"));
  EXPECT_EQ(error_of("{}   ", 0), "");
  EXPECT_THAT(error_of(R"({"a":1})", 0), HasSubstr("tensor 'a'"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[1]}})", 4),
              HasSubstr("data_offsets: missing"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":5,"shape":[1],"data_offsets":[0,4]}})", 4),
              HasSubstr("dtype: expected a string"));
  EXPECT_THAT(error_of(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
              HasSubstr("shape[0]"));
  EXPECT_THAT(
      error_of(R"({"a":{"dtype":"F32","shape":[9223372036854775807,3],"data_offsets":[0,4]}})", 4),
      HasSubstr("too many elements"));
  // 2^62 elements of 4 bytes come to 2^64, which is 0 where it wraps.
  EXPECT_THAT(
      error_of(R"({"a":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}})", 0),
      HasSubstr("span 0 bytes"));
  const std::string entry = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_THAT(error_of("{\"a\":" + entry + ",\"a\":" + entry + "}", 4), HasSubstr("appears twice"));
  EXPECT_THAT(error_of(R"({"__metadata__":{"a":1}})", 0), HasSubstr("__metadata__"));
}

TEST(Safetensors, OtherTypesAndEmptyTensorsAreRead) {
  const std::string header = R"({"e":{"dtype":"F32","shape":[0,3],"data_offsets":[2,2]},)"
                             R"("h":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]},)"
                             R"("n":{"dtype":"NEW","shape":[7],"data_offsets":[2,5]}})";
  const std::string file = safetensors_bytes(header, 5);
  const auto entries = parse_safetensors(bytes_of(file), "f");
  EXPECT_EQ(entries.at("h").dtype, "BF16");
  EXPECT_TRUE(entries.at("e").bytes.empty());
  EXPECT_EQ(entries.at("n").bytes.size(), 3U);
}

// FIPS 180-2, appendix B.1 and B.2, and the hash of nothing.
TEST(Sha256, MatchesTheStandardsExamples) {
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(bytes_of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  Sha256 parts;
  parts.update(bytes_of("abcdbcdecdefdefgefghfghighijhi"));
  parts.update(bytes_of("jkijkljklmklmnlmnomnopnopq"));
  EXPECT_EQ(parts.finish(), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(GradientValues, Bf16IsTheUpperHalf) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float wide = widen_bf16(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide), bits << 16);
  }
}

// By definition: (-1)^s 2^(e-15) (1 + f/1024); for e = 0, 2^-14 f/1024; e = 31: infinity or NaN.
TEST(GradientValues, F16AsIeee754DefinesIt) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31U);
    const double fraction = static_cast<double>(bits & 1023U) / 1024;
    const float found = widen_f16(static_cast<std::uint16_t>(bits));
    EXPECT_EQ(std::signbit(found), (bits & 0x8000U) != 0) << bits;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(found)) << bits;
      continue;
    }
    double expected =
        exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
    if (exponent == 31) expected = std::numeric_limits<double>::infinity();
    EXPECT_EQ(std::abs(static_cast<double>(found)), expected) << bits;
  }
}

TEST(GradientValues, Fp32IsServedInPlaceAnd16BitsAreWidenedOnce) {
  const std::vector<float> wide = {1.5F, -2.F};
  const GradientValues in_place(std::as_bytes(std::span(wide)), GradientType::kF32);
  EXPECT_EQ(in_place.get().data(), wide.data());
  EXPECT_EQ(in_place.get().size(), 2U);
  const std::vector<std::uint16_t> narrow = {0x3FC0, 0xC000, 0x0000};  // bfloat16 1.5, -2, 0
  const GradientValues widened(std::as_bytes(std::span(narrow)), GradientType::kBF16);
  const std::span<const float> values = widened.get();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
            (std::vector<float>{1.5F, -2.F, 0.F}));
  EXPECT_EQ(widened.get().data(), values.data());
}

TEST(GradientValues, NamesAreThoseOfSafetensors) {
  for (const GradientType type : {GradientType::kF32, GradientType::kBF16, GradientType::kF16}) {
    GradientType parsed = GradientType::kF32;
    EXPECT_TRUE(parse_gradient_type(gradient_type_name(type), parsed));
    EXPECT_EQ(parsed, type);
  }
  GradientType untouched = GradientType::kF16;
  EXPECT_FALSE(parse_gradient_type("F64", untouched));
  EXPECT_EQ(untouched, GradientType::kF16);
}

}  // namespace

}  // namespace thinpipe
