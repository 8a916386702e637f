#include "netem/link/attributes.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

TEST(AttributeWriter, WritesHeaderValueAndPadding) {
  AttributeWriter writer;
  writer.put(3, std::uint32_t{0x01020304});
  writer.put_text(1, "tbf");
  writer.put_text(2, "htb1");
  // Length counts header and value (4 + 4, 4 + 4, 4 + 5) but no padding; all little-endian.
  EXPECT_EQ(hex(writer.bytes()), "08000300 04030201 08000100 74626600 09000200 68746231 00000000");
}

TEST(AttributeWriter, Nests) {
  AttributeWriter inner, outer;
  inner.put(7, std::uint32_t{1});
  outer.put_struct(std::uint32_t{5});
  outer.put_nested(2, inner);
  EXPECT_EQ(hex(outer.bytes()), "05000000 0c000200 08000700 01000000");
}

TEST(AttributeWriter, RefusesWhatALengthCannotSay) {
  AttributeWriter writer;
  EXPECT_NO_THROW(writer.put_bytes(1, std::vector<std::byte>(65531)));
  EXPECT_THROW(writer.put_bytes(1, std::vector<std::byte>(65532)), RunError);
}

TEST(AttributeReader, ReadsWhatWasWritten) {
  AttributeWriter inner, writer;
  inner.put(1, std::uint64_t{1} << 40);
  writer.put_text(5, "netem");
  writer.put_nested(6, inner);
  const AttributeReader reader(writer.bytes(), "test");
  EXPECT_EQ(reader.text(5), "netem");
  EXPECT_EQ(AttributeReader(reader.bytes(6), "inner").get<std::uint64_t>(1), 1ULL << 40);
  EXPECT_FALSE(reader.has(7));
  EXPECT_THROW((void)reader.bytes(7), RunError);
  EXPECT_THROW((void)reader.get<std::uint64_t>(5), RunError);  // 6 bytes
}

TEST(AttributeReader, TakesNestedAndByteOrderFlagsOffTheType) {
  EXPECT_EQ(AttributeReader(from_hex("08000280 2a000000"), "test").get<std::uint32_t>(2), 42U);
}

TEST(AttributeReader, RefusesLengthsThatLie) {
  for (const char* bytes : {"03000100", "00000100", "0c000100 01000000", "ffff0100",
                            "08000100 01000000 09000200 00000000"})
    EXPECT_THROW(AttributeReader(from_hex(bytes), "test"), RunError) << bytes;
  // Fewer bytes than a header at the end are padding.
  EXPECT_TRUE(AttributeReader(from_hex("05000100 2a000000 0000"), "test").has(1));
  EXPECT_TRUE(AttributeReader(from_hex("05000100 2a"), "test").has(1));
}

TEST(AttributeReader, SurvivesAnyBytes) {
  // Every prefix, and every byte set to a few values, of a valid message: an error or a reading.
  AttributeWriter writer;
  writer.put(1, std::uint32_t{1});
  writer.put_text(2, "kind");
  writer.put(3, std::uint64_t{3});
  for (std::size_t size = 0; size <= writer.bytes().size(); ++size)
    for (std::size_t changed = 0; changed < size; ++changed)
      for (const int value : {0, 1, 3, 4, 5, 127, 255}) {
        std::vector<std::byte> bytes(writer.bytes().begin(),
                                     writer.bytes().begin() + static_cast<std::ptrdiff_t>(size));
        bytes[changed] = static_cast<std::byte>(value);
        try {
          const AttributeReader reader(bytes, "test");
          for (std::uint16_t type = 0; type < 8; ++type)
            EXPECT_LE(reader.has(type) ? reader.text(type).size() : 0, size);
        } catch (const RunError&) {
        }
      }
}

}  // namespace

}  // namespace thinpipe
