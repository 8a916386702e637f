// Streams of bits and of bytes, and omega codes in them.
#include "compressors/wire/bits.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "compressors/kernels/random.h"
#include "compressors/wire/bytes.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

TEST(Bits, LowestBitFirst) {
  std::vector<std::byte> bytes(2);
  BitWriter out(bytes);
  out.put(0b1, 1);
  out.put(0b10, 2);  // bits 1 and 2: 0, 1
  out.put_unary(3);  // 0001 in bits 3 to 6
  out.put(0b11, 2);  // bits 7 and 8
  EXPECT_EQ(out.finish(), 2U);
  EXPECT_EQ(bytes, bytes_of({0b11000101, 0b00000001}));
}

TEST(Bits, RoundTripAtEveryWidthInExactlyEnoughSpace) {
  SplitMix64 random(3);
  for (int round = 0; round < 200; ++round) {
    struct Item {
      bool unary;
      std::uint64_t value;
      int bits;
    };
    std::vector<Item> items;
    std::size_t total = 0;
    for (int i = 0; i < 40; ++i) {
      const bool unary = random.below(2) == 0;
      const int width = static_cast<int>(random.below(BitWriter::kMaxBits + 1));
      const std::uint64_t value =
          unary ? random.below(200) : random.next() & ((std::uint64_t{1} << width) - 1);
      items.push_back({unary, value, width});
      total += unary ? value + 1 : static_cast<std::size_t>(width);
    }
    std::vector<std::byte> bytes((total + 7) / 8);
    BitWriter out(bytes);
    for (const Item& item : items) {
      if (item.unary) {
        out.put_unary(item.value);
      } else {
        out.put(item.value, item.bits);
      }
    }
    ASSERT_EQ(out.finish(), bytes.size());
    BitReader in(bytes);
    for (const Item& item : items) {
      ASSERT_EQ(item.unary ? in.get_unary() : in.get(item.bits), item.value);
    }
    EXPECT_NO_THROW(in.expect_end());
  }
}

TEST(Bits, SkipsAndKnowsWhereItIs) {
  const auto bytes = bytes_of({0, 0b10000, 0xff});
  BitReader in(bytes);
  in.skip(12);
  EXPECT_EQ(in.at(), 12U);
  EXPECT_EQ(in.remaining(), 12U);
  EXPECT_EQ(in.get(1), 1U);
  EXPECT_THROW(in.skip(12), PayloadError);
  in.skip(11);
  EXPECT_NO_THROW(in.expect_end());
}

TEST(Bits, WordsEndInZeros) {
  const auto bytes = bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(load_word(bytes, 0), 0x0807060504030201U);
  EXPECT_EQ(load_word(bytes, 1), 0x0908070605040302U);
  EXPECT_EQ(load_word(bytes, 2), 0x0009080706050403U);
  EXPECT_EQ(load_word(bytes, 8), 9U);
  EXPECT_EQ(load_word(bytes, 9), 0U);
  EXPECT_EQ(load_word(bytes, 1000), 0U);
  EXPECT_EQ(load_word({}, 0), 0U);
}

TEST(Bits, ReaderRefusesToRunOverTheEnd) {
  std::vector<std::byte> zeros(5);
  BitReader unary(zeros);
  EXPECT_THROW(unary.get_unary(), PayloadError);
  BitReader bits(zeros);
  bits.get(32);
  EXPECT_THROW(bits.get(9), PayloadError);
  EXPECT_THROW(BitReader(zeros).expect_end(), PayloadError);
  std::vector<std::byte> padded = {std::byte{0b101}};
  BitReader in(padded);
  in.get(1);
  EXPECT_THROW(in.expect_end(), PayloadError);  // the padding has a one
  in.get(2);
  EXPECT_NO_THROW(in.expect_end());
}

/// Elias's algorithm: start with "0"; while n > 1 put n in binary before it and go on with its
/// length less one.
std::string plain_omega(std::uint64_t n) {
  std::string code = "0";
  while (n > 1) {
    std::string group;
    for (std::uint64_t rest = n; rest > 0; rest /= 2) group.insert(0, rest % 2 == 0 ? "0" : "1");
    code.insert(0, group);
    n = group.size() - 1;
  }
  return code;
}

std::vector<std::uint64_t> numbers() {
  std::vector<std::uint64_t> list;
  for (std::uint64_t n = 1; n < 300; ++n) list.push_back(n);
  for (int bit = 9; bit <= 32; ++bit) {
    const std::uint64_t power = std::uint64_t{1} << bit;
    list.insert(list.end(), {power - 1, power, power + 1});
  }
  return list;
}

TEST(Omega, CodesAreThoseOfTheDefinition) {
  for (std::uint64_t n : numbers()) {
    const std::string expected = plain_omega(n);
    EXPECT_EQ(static_cast<std::size_t>(omega_size(n)), expected.size());
    std::array<std::byte, 16> bytes{};
    BitWriter out(bytes);
    put_omega(n, out);
    const auto written = std::span<const std::byte>(bytes).first(out.finish());
    BitReader in(written);
    std::string code;
    for (std::size_t i = 0; i < expected.size(); ++i) code += in.get(1) != 0 ? '1' : '0';
    EXPECT_EQ(code, expected) << n;
    BitReader again(written);
    EXPECT_EQ(get_omega(again, n), n);
    again.expect_end();
    BitReader limited(written);
    EXPECT_THROW(get_omega(limited, n - 1), PayloadError);
  }
}

TEST(Omega, RefusesWhatIsNoCode) {
  const std::vector<std::byte> ones(100, std::byte{0xff});
  BitReader endless(ones);
  EXPECT_THROW(get_omega(endless, ~std::uint64_t{0}), PayloadError);
  BitReader nothing{std::span<const std::byte>()};
  EXPECT_THROW(get_omega(nothing, 10), PayloadError);
}

TEST(Bytes, VarintRoundTripsInTheFewestBytes) {
  // Each byte holds seven bits of the number: 127 is the greatest number of one byte, 16383 of two
  // bytes, and 2^32 - 1 takes five bytes.
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
  const auto refused = [](std::initializer_list<int> values, std::uint64_t maximum) {
    const auto bytes = bytes_of(values);
    EXPECT_THROW(ByteReader(bytes).get_varint(maximum, "test"), PayloadError);
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
  EXPECT_EQ(error_text<PayloadError>([&] { in.get<float>("the scale"); }),
            "payload ends at byte 6; expected 4 bytes of the scale from byte 4");
  EXPECT_THROW(in.expect_end(), PayloadError);
  EXPECT_THROW(in.get_bytes(static_cast<std::size_t>(-1), "everything"), PayloadError);
}

}  // namespace

}  // namespace thinpipe
