#include "workloads/trace/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/input_error.h"
#include "tests/trace/trace_files.h"

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
  EXPECT_THAT(error_of(two("[0,4]", "[8,12]"), 12), HasSubstr("hole"));
  EXPECT_THAT(error_of(two("[4,8]", "[8,12]"), 12), HasSubstr("hole"));
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
  EXPECT_THAT(error_of("{\"a\":" + entry + ",\"a\":" + entry + "}", 4), HasSubstr("stands twice"));
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

}  // namespace
}  // namespace thinpipe
