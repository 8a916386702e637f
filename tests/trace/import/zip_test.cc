#include "workloads/trace/import/zip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/base/input_error.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

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

/// A member as it is to be written; what is wrong with it in a test is set here.
struct PlainMember {
  std::string name = "a.npy";
  std::string content = "hello";
  std::string packed = {};  ///< "" for the content itself
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::uint32_t size = 5;
  std::uint32_t crc = plain_crc("hello");
  bool zip64 = false;  ///< sizes in a ZIP64 field
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
    const auto small = static_cast<std::uint32_t>(packed.size());
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
  for (const ZipMember& member : parse_zip(std::as_bytes(std::span(file)), "a.npz")) {
    std::vector<std::byte> storage;
    const auto bytes = unpack(member, "a.npz", storage);
    all +=
        member.name + "=" + std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }
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
  EXPECT_THAT(error("hello"), HasSubstr("a.npz: no ZIP archive"));
  EXPECT_THAT(error(std::string(100, 'x')), HasSubstr("no end record"));
  EXPECT_THAT(error(zip_archive({{.crc = 1}})),
              HasSubstr("member 'a.npy': CRC-32: found 3610a686"));
  EXPECT_THAT(error(zip_archive({{.method = 12}})), HasSubstr("method: found 12"));
  EXPECT_THAT(error(zip_archive({{.flags = 1}})), HasSubstr("encrypted"));
  EXPECT_THAT(error(zip_archive({{.size = 6}})), HasSubstr("stored in 5 bytes, expected 6"));
  EXPECT_THAT(error(zip_archive({PlainMember{}, PlainMember{}})), HasSubstr("stands twice"));
  EXPECT_THAT(error(zip_archive({PlainMember{}}, 2)), HasSubstr("central directory"));
  EXPECT_THAT(error(zip_archive({PlainMember{}}, 999)), HasSubstr("999 members do not fit"));
  EXPECT_THAT(error(zip_archive({PlainMember{}}).substr(5)), HasSubstr("a.npz: "));
  // More than deflate can make of so few bytes is refused before it is allocated.
  EXPECT_THAT(
      error(zip_archive({{.packed = stored_block("hello"), .method = 8, .size = 4000000000U}})),
      HasSubstr("cannot unpack to 4000000000"));
  EXPECT_THAT(error(zip_archive({{.packed = stored_block("hello"), .method = 8, .size = 6}})),
              HasSubstr("unpacks to 5 bytes, expected 6"));
  EXPECT_THAT(error(zip_archive({{.packed = stored_block("hello"), .method = 8, .size = 4}})),
              HasSubstr("expected 4; it is damaged"));
  EXPECT_THAT(error(zip_archive({{.packed = "\7nonsense", .method = 8}})), HasSubstr("damaged"));
}

}  // namespace
}  // namespace thinpipe
