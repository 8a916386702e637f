#include "compressors/wire/bytes.h"

#include <gtest/gtest.h>

#include <vector>

namespace thinpipe {
namespace {

TEST(Bytes, VarintRoundTripsInTheFewestBytes) {
  // Seven bits a byte: 127 is the last of one byte, 16383 of two, 2^32 - 1 takes five.
  const std::vector<std::pair<std::uint64_t, std::size_t>> sizes = {
      {0, 1}, {127, 1}, {128, 2}, {16383, 2}, {16384, 3}, {0xffffffff, 5}};
  for (const auto& [value, size] : sizes) {
    std::vector<std::byte> bytes(8);
    ByteWriter out(bytes);
    out.put_varint(value);
    EXPECT_EQ(out.size(), size);
    EXPECT_EQ(varint_size(value), size);
    ByteReader in({bytes.data(), size});
    EXPECT_EQ(in.get_varint(0xffffffff, "test"), value);
    EXPECT_NO_THROW(in.expect_end());
  }
}

TEST(Bytes, VarintRefusesOtherForms) {
  const auto refused = [](std::vector<int> values, std::uint64_t maximum) {
    std::vector<std::byte> bytes;
    for (int value : values) bytes.push_back(static_cast<std::byte>(value));
    ByteReader in(bytes);
    EXPECT_THROW(in.get_varint(maximum, "test"), PayloadError);
  };
  refused({}, 100);
  refused({0x80}, 100);                                // unfinished
  refused({0x80, 0x00}, 100);                          // a longer zero
  refused({101}, 100);                                 // too great
  refused({0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, ~0U);  // longer than any 32-bit number
  refused({0xff, 0xff, 0xff, 0xff, 0x1f}, 0xffffffff);
}

TEST(Bytes, ReaderNamesWhatIsMissing) {
  std::vector<std::byte> bytes(6);
  ByteReader in(bytes);
  in.get<std::uint32_t>("a word");
  EXPECT_EQ(in.remaining(), 2U);
  try {
    in.get<float>("the scale");
    FAIL();
  } catch (const PayloadError& error) {
    EXPECT_STREQ(error.what(), "payload ends at byte 6; expected 4 bytes of the scale from byte 4");
  }
  EXPECT_THROW(in.expect_end(), PayloadError);
  EXPECT_THROW(in.get_bytes(static_cast<std::size_t>(-1), "everything"), PayloadError);
}

}  // namespace
}  // namespace thinpipe
