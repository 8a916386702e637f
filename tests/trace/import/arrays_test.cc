#include "workloads/trace/import/arrays.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/input_error.h"
#include "tests/trace/trace_files.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

std::string npy_file(const std::string& header, const std::string& elements, char major = 1) {
  std::string file = "\x93NUMPY"s + major + '\0';
  const auto length = static_cast<std::uint32_t>(header.size());
  file.append(reinterpret_cast<const char*>(&length), major == 1 ? 2 : 4);
  return file + header + elements;
}

TEST(Npy, ReadsShapeTypeAndOrder) {
  const std::string file = npy_file(
      "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }   \n", std::string(24, 'x'));
  const NpyArray array = parse_npy(bytes_of(file), "a.npy");
  EXPECT_EQ(array.dtype, "F32");
  EXPECT_TRUE(array.fortran_order);
  EXPECT_THAT(array.shape, ElementsAre(2, 3));
  EXPECT_EQ(array.bytes.size(), 24U);
}

TEST(Npy, ReadsScalarsVectorsAndLaterVersions) {
  const std::string scalar = "{\"shape\": (), 'fortran_order': False, 'descr': '<f8'}";
  for (const char major : {1, 2, 3}) {
    const std::string file = npy_file(scalar, std::string(8, '\0'), major);
    EXPECT_TRUE(parse_npy(bytes_of(file), "a").shape.empty());
  }
  const std::string vector =
      npy_file("{'descr': '<f2', 'fortran_order': False, 'shape': (3,)}", "123456");
  EXPECT_THAT(parse_npy(bytes_of(vector), "a").shape, ElementsAre(3));
}

TEST(Npy, RefusesWhatItIsNot) {
  const std::string good = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}";
  const auto error = [&](const std::string& header, const std::string& elements = "1234") {
    const std::string file = npy_file(header, elements);
    return input_error([&] { parse_npy(bytes_of(file), "a.npy"); });
  };
  EXPECT_EQ(error(good), "");
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string header = good;
    return header.replace(header.find(from), from.size(), to);
  };
  EXPECT_THAT(error(with("<f4", ">f4")), HasSubstr("a.npy: header: descr: found '>f4', expected"));
  EXPECT_THAT(error(with("'<f4'", "[('x', '<f4')]")), HasSubstr("structured arrays"));
  EXPECT_THAT(error(with("False", "false")), HasSubstr("expected True or False"));
  EXPECT_THAT(error(with("(1,)", "(-1,)")), HasSubstr("shape: expected a number"));
  EXPECT_THAT(error(with("(1,)", "(99999999999999999999,)")), HasSubstr("too large"));
  EXPECT_THAT(error(with("(1,)", "(4294967296, 4294967296, 16)")), HasSubstr("too many elements"));
  EXPECT_THAT(error(with("'shape'", "'shapes'")), HasSubstr("member 'shapes'"));
  EXPECT_THAT(error(with("'descr': '<f4', ", "")), HasSubstr("descr is missing"));
  EXPECT_THAT(error(with("'fortran_order'", "'descr'")), HasSubstr("member 'descr'"));
  EXPECT_THAT(error(with("}", "")), HasSubstr("expected '}' at byte"));
  EXPECT_THAT(error(good + " import os"), HasSubstr("text after it"));
  EXPECT_THAT(error(good, "123"), HasSubstr("3 bytes after the header, expected 1 elements of 4"));
  EXPECT_THAT(error(good, "12345"), HasSubstr("5 bytes after the header"));
  EXPECT_THAT(input_error([&] { parse_npy(bytes_of("PK\3\4"), "a.npy"); }),
              HasSubstr("no .npy file"));
  EXPECT_THAT(input_error([&] { parse_npy(bytes_of(npy_file(good, "1234", 4)), "a.npy"); }),
              HasSubstr("version: found 4"));
  const std::string cut = npy_file(good, "").substr(0, 30);
  EXPECT_THAT(input_error([&] { parse_npy(bytes_of(cut), "a.npy"); }), HasSubstr("header length"));
}

TEST(Npy, PrologueIsReadBack) {
  for (const std::vector<std::int64_t>& shape :
       {std::vector<std::int64_t>{}, {5}, {2, 3, 4}, {1, 1}}) {
    std::size_t elements = 1;
    for (const auto dimension : shape) elements *= static_cast<std::size_t>(dimension);
    const std::string prologue = npy_prologue(shape);
    EXPECT_EQ(prologue.size() % 64, 0U);
    const std::string file = prologue + std::string(4 * elements, '\0');
    const NpyArray array = parse_npy(bytes_of(file), "a");
    EXPECT_EQ(array.shape, shape);
    EXPECT_FALSE(array.fortran_order);
  }
}

TEST(Npy, FloatsOfEveryWidthAtAnyAddress) {
  const std::string one_f16 = "?\x00\x3c"s;   // 1.0 is 0x3c00
  const std::string one_bf16 = "?\x80\x3f"s;  // 0x3f80
  const std::string pi_f64 = "?\x18\x2d\x44\x54\xfb\x21\x09\x40"s;
  EXPECT_THAT(floats_of("F16", bytes_of(one_f16).subspan(1), "a"), ElementsAre(1.0F));
  EXPECT_THAT(floats_of("BF16", bytes_of(one_bf16).subspan(1), "a"), ElementsAre(1.0F));
  EXPECT_THAT(floats_of("F64", bytes_of(pi_f64).subspan(1), "a"), ElementsAre(3.14159274F));
  EXPECT_THAT(input_error([&] { floats_of("I32", bytes_of("1234"), "a"); }),
              HasSubstr("a: dtype: found I32"));
}

TEST(Npy, RowMajorOfColumnMajor) {
  // The array [[1, 2, 3], [4, 5, 6]] with its first index running fastest is 1 4 2 5 3 6.
  const std::vector<float> columns = {1, 4, 2, 5, 3, 6};
  const std::vector<std::int64_t> shape = {2, 3};
  EXPECT_THAT(row_major(columns, shape), ElementsAre(1, 2, 3, 4, 5, 6));
}

}  // namespace

}  // namespace thinpipe
