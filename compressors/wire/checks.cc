// CRC-32C by tables, eight bytes at a time (Kounavis and Berry, 2005, "slicing by 8").
#include "compressors/wire/checks.h"

#include <array>
#include <bit>
#include <cstring>

namespace thinpipe {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // 0x1edc6f41 with its bits reversed
constexpr std::size_t kSlices = 8;

using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

// tables[s][b] is the contribution of byte b to the checksum if s more bytes follow b. The checksum
// is linear over XOR. So eight bytes take eight independent lookups, whose results are XORed.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = crc;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice) {
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t crc = tables[slice - 1][byte];
      tables[slice][byte] = (crc >> 8) ^ tables[0][crc & 0xff];
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

static_assert(std::endian::native == std::endian::little,
              "eight bytes are read as one little-endian number");

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  while (bytes.size() >= kSlices) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    word ^= crc;
    crc = 0;
    for (std::size_t i = 0; i < kSlices; ++i) {
      crc ^= kTables[kSlices - 1 - i][(word >> (8 * i)) & 0xff];
    }
    bytes = bytes.subspan(kSlices);
  }
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(byte)) & 0xff];
  }
  return ~crc;
}

}  // namespace thinpipe
