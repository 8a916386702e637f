// CRC-32C and UTF-8 against their standards.
#include "compressors/wire/checks.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// One bit after the other, as the polynomial is divided by hand.
std::uint32_t plain_crc32c(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

TEST(Crc32c, IsTheStandards) {
  // RFC 3720, appendix B.4, and the check value of the CRC catalogues.
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8a9136aaU);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43U);
  std::vector<std::byte> up(32);
  for (std::size_t i = 0; i < up.size(); ++i) up[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(up), 0x46dd794eU);
  EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, IsTheSameByBitsAndInParts) {
  std::vector<std::byte> bytes(100);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * i * 7);
  for (std::size_t size = 0; size <= bytes.size(); ++size) {
    const auto all = std::span<const std::byte>(bytes).first(size);
    ASSERT_EQ(crc32c(all), plain_crc32c(all)) << size;
    for (std::size_t cut = 0; cut <= size; cut += 3) {
      ASSERT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), plain_crc32c(all));
    }
  }
}

TEST(Utf8, TakesWhatTheStandardTakes) {
  for (const char* text :
       {"", "conv1.weight", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf", "a\xcc\x82z"}) {
    EXPECT_TRUE(is_utf8(text)) << text;
  }
  EXPECT_TRUE(is_utf8(std::string("\0", 1)));
}

TEST(Utf8, RefusesEverythingElse) {
  for (const char* text : {"\x80", "\xbf", "\xc2", "\xc2z", "\xe0\xa0", "\xf0\x90\x80",  // cut off
                           "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",   // overlong
                           "\xed\xa0\x80", "\xed\xbf\xbf",  // surrogates
                           "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff", "\xfe"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

}  // namespace
}  // namespace thinpipe
