// Arrays of NumPy's files and archives, and names of tensors taken from paths.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/support.h"
#include "workloads/trace/import/arrays.h"
#include "workloads/trace/import/names.h"
#include "workloads/trace/zip.h"

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
  EXPECT_THAT(error(good + " import os"), HasSubstr("text after the dictionary"));
  EXPECT_THAT(error(good, "123"), HasSubstr("3 bytes after the header, expected 1 elements of 4"));
  EXPECT_THAT(error(good, "12345"), HasSubstr("5 bytes after the header"));
  EXPECT_THAT(input_error([&] { parse_npy(bytes_of("PK\3\4"), "a.npy"); }),
              HasSubstr("not a .npy file"));
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

template <class T>
void append_number(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// CRC-32 bit by bit.
std::uint32_t plain_crc(const std::string& text) {
  std::uint32_t crc = ~0U;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
  }
  return ~crc;
}

/// A member as it is to be written; a test sets its defects in it.
struct PlainMember {
  std::string name = "a.npy";
  std::string content = "hello";
  std::string packed = {};  ///< "" for the content itself
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::uint32_t size = 5;
  std::uint32_t crc = plain_crc("hello");
  bool zip64 = false;             ///< sizes in a ZIP64 field
  std::uint32_t packed_size = 0;  ///< in the headers; 0: the true one
};

std::string zip_archive(const std::vector<PlainMember>& members, std::uint16_t count = 0xffff) {
  std::string file, directory;
  for (const PlainMember& member : members) {
    const std::string packed = member.packed.empty() ? member.content : member.packed;
    const auto offset = static_cast<std::uint32_t>(file.size());
    std::string extra;
    if (member.zip64) {
      append_number(extra, std::uint16_t{0x7777});  // a field of another kind goes before
      append_number(extra, std::uint16_t{1});
      extra += 'x';
      append_number(extra, std::uint16_t{1});
      append_number(extra, std::uint16_t{16});
      append_number(extra, std::uint64_t{member.size});
      append_number(extra, std::uint64_t{packed.size()});
    }
    std::string common;
    append_number(common, std::uint16_t{20});
    append_number(common, member.flags);
    append_number(common, member.method);
    append_number(common, std::uint32_t{0});  // time and date
    append_number(common, member.crc);
    const auto true_size = static_cast<std::uint32_t>(packed.size());
    const std::uint32_t small = member.packed_size > 0 ? member.packed_size : true_size;
    append_number(common, member.zip64 ? 0xffffffffU : small);
    append_number(common, member.zip64 ? 0xffffffffU : member.size);
    append_number(common, static_cast<std::uint16_t>(member.name.size()));
    append_number(common, static_cast<std::uint16_t>(extra.size()));
    file += "PK\3\4" + common + member.name + extra + packed;
    directory += "PK\1\2\x14\0"s + common + std::string(10, '\0');
    append_number(directory, offset);
    directory += member.name + extra;
  }
  const auto begin = static_cast<std::uint32_t>(file.size());
  file += directory + "PK\5\6" + std::string(4, '\0');
  const auto all = count == 0xffff ? static_cast<std::uint16_t>(members.size()) : count;
  append_number(file, all);
  append_number(file, all);
  append_number(file, static_cast<std::uint32_t>(directory.size()));
  append_number(file, begin);
  append_number(file, std::uint16_t{3});
  return file + "end";  // a comment
}

std::string unpacked(const std::string& file) {
  std::string all;
  unpack_zip(std::as_bytes(std::span(file)), "a.npz",
             [&](const std::string& name, std::span<const std::byte> bytes) {
               all += name + "=" +
                      std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
             });
  return all;
}

/// Deflate's form for bytes that are left as they are: last block, stored, length, its complement.
std::string stored_block(const std::string& text) {
  std::string block = "\1"s;
  const auto length = static_cast<std::uint16_t>(text.size());
  append_number(block, length);
  append_number(block, static_cast<std::uint16_t>(~length));
  return block + text;
}

TEST(Zip, StoredAndDeflatedMembers) {
  EXPECT_EQ(unpacked(zip_archive({PlainMember{}, {.name = "b", .zip64 = true}})),
            "a.npy=hellob=hello");
  EXPECT_EQ(unpacked(zip_archive({{.packed = stored_block("hello"), .method = 8}})), "a.npy=hello");
  // "hello" by fixed codes, as zlib writes it.
  EXPECT_EQ(unpacked(zip_archive({{.packed = "\xcb\x48\xcd\xc9\xc9\x07\x00"s, .method = 8}})),
            "a.npy=hello");
  EXPECT_EQ(unpacked(zip_archive({})), "");
}

TEST(Zip, RefusesWhatDoesNotHoldTogether) {
  const auto error = [](const std::string& file) { return input_error([&] { unpacked(file); }); };
  EXPECT_THAT(error("hello"), HasSubstr("a.npz: cannot be read as a ZIP archive"));
  EXPECT_THAT(error(std::string(100, 'x')), HasSubstr("a.npz: cannot be read"));
  EXPECT_THAT(error(zip_archive({{.crc = 1}})), HasSubstr("member 'a.npy': damaged: CRC"));
  EXPECT_THAT(error(zip_archive({{.method = 12}})), HasSubstr("method: found 12"));
  EXPECT_THAT(error(zip_archive({{.flags = 1}})), HasSubstr("encrypted"));
  EXPECT_THAT(error(zip_archive({{.size = 6}})), HasSubstr("damaged"));
  EXPECT_THAT(error(zip_archive({PlainMember{}, PlainMember{}})), HasSubstr("appears twice"));
  EXPECT_THAT(error(zip_archive({PlainMember{}}, 2)), HasSubstr("a.npz: "));
  EXPECT_THAT(error(zip_archive({PlainMember{}}, 999)), HasSubstr("a.npz: "));
  EXPECT_THAT(error(zip_archive({PlainMember{}}).substr(5)), HasSubstr("a.npz: "));
  // More than deflate can make of so few bytes is refused before it is allocated.
  EXPECT_THAT(
      error(zip_archive({{.packed = stored_block("hello"), .method = 8, .size = 4000000000U}})),
      HasSubstr("cannot unpack to 4000000000"));
  // So are more packed bytes than the archive has.
  EXPECT_THAT(error(zip_archive({{.size = 4000000000U, .packed_size = 4000000000U}})),
              HasSubstr("4000000000 packed bytes, but the archive has"));
  for (const std::uint32_t size : {4U, 6U})
    EXPECT_THAT(error(zip_archive({{.packed = stored_block("hello"), .method = 8, .size = size}})),
                HasSubstr("damaged"));
  EXPECT_THAT(error(zip_archive({{.packed = "\7nonsense", .method = 8}})), HasSubstr("damaged"));
}

std::string matched(const std::string& pattern, const std::string& path) {
  const auto parts = PathPattern(pattern).match(path);
  return parts ? fmt::format("{} {} {}", parts->step, parts->rank, parts->tensor) : "no";
}

TEST(PathPattern, TakesPathsApart) {
  EXPECT_EQ(matched("{step}/{rank}/{tensor}.npy", "00012/3/conv1.weight.npy"), "12 3 conv1.weight");
  EXPECT_EQ(
      matched("*r{rank}_gradients_iter_{step}.npy", "cifar10_resnet20_r0_gradients_iter_100.npy"),
      "100 0 ");
  EXPECT_EQ(matched("*{step}.npy", "grad123.npy"), "123 0 ") << "all digits, not the last alone";
  EXPECT_EQ(matched("{tensor}-{step}.npy", "a-1-2.npy"), "2 0 a-1");
  EXPECT_EQ(matched("*.npz", "anything.npz"), "0 0 ");
  EXPECT_EQ(matched("{tensor}.npy", "a%2Fb%zz%.npy"), "0 0 a/b%zz%");
}

TEST(PathPattern, DoesNotMatch) {
  EXPECT_EQ(matched("{step}/{tensor}.npy", "1/2/a.npy"), "no") << "no name contains a slash";
  EXPECT_EQ(matched("{step}.npy", "x.npy"), "no");
  EXPECT_EQ(matched("{step}.npy", ".npy"), "no");
  EXPECT_EQ(matched("{step}.npy", "1234567890123456789.npy"), "no") << "19 digits";
  EXPECT_EQ(matched("{tensor}.npy", ".npy"), "no");
  EXPECT_EQ(matched("{step}.npy", "1.npy.bak"), "no");
  // Would take for ever if every alternative were tried.
  EXPECT_EQ(matched("*a*a*a*a*a*a*a*a*a*a*a*b", std::string(250, 'a')), "no");
}

TEST(PathPattern, RefusesWhatIsNone) {
  EXPECT_THAT(input_error([] { PathPattern("{epoch}.npy"); }),
              HasSubstr("expected {step}, {rank} or {tensor}, found '{epoch}.npy'"));
  EXPECT_THAT(input_error([] { PathPattern("{step"); }), HasSubstr("found '{step'"));
  EXPECT_THAT(input_error([] { PathPattern("{step}{step}"); }), HasSubstr("appears twice"));
  EXPECT_THAT(input_error([] { PathPattern(""); }), HasSubstr("empty"));
}

TEST(PathPattern, FileNamesComeBack) {
  for (const std::string name : {"conv1.weight", "a/b", "..", ".x", "100 %", "q:b", "\xc3\xa4"}) {
    const std::string escaped = escaped_file_name(name);
    EXPECT_EQ(escaped.find('/'), std::string::npos);
    EXPECT_EQ(matched("{tensor}.npy", escaped + ".npy"), "0 0 " + name);
  }
}

TEST(Renames, TheFirstThatFits) {
  const Renames renames = parse_renames({"module.fc=head", "module.*=*", "*.w=*.weight"});
  EXPECT_EQ(renamed("module.fc", renames), "head");
  EXPECT_EQ(renamed("module.a.w", renames), "a.w");
  EXPECT_EQ(renamed("b.w", renames), "b.weight");
  EXPECT_EQ(renamed("b", renames), "b");
  EXPECT_EQ(renamed("ab", parse_renames({"ab*ba=x"})), "ab") << "shorter than both ends";
  EXPECT_THAT(input_error([] { parse_renames({"a"}); }), HasSubstr("expected OLD=NEW"));
  EXPECT_THAT(input_error([] { parse_renames({"a=*"}); }), HasSubstr("only if OLD has one"));
  EXPECT_THAT(input_error([] { parse_renames({"*a*=b"}); }), HasSubstr("at most one *"));
}

}  // namespace

}  // namespace thinpipe
