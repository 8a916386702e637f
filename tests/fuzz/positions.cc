// Fuzzes position codecs. Every codec must encode any list of gaps within its size bound and decode
// it to the same list. If arbitrary bytes decode to positions, these positions must survive another
// encoding and decoding.
#include <vector>

#include "compressors/encode/position_codec.h"
#include "tests/fuzz/input.h"

namespace thinpipe::fuzz {
namespace {

using Positions = std::vector<std::uint32_t>;

/// Bitmaps take d / 8 bytes, 28 bits take no more elements than that.
bool can_address(const std::string& codec, std::size_t elements) {
  return elements <= (codec == "bitmap" ? 1U << 20 : codec == "index28" ? 1U << 28 : 0xffffffffU);
}

/// Decodes in blocks of changing sizes, taken from `blocks`.
Positions decode(const PositionCodec& codec, std::span<const std::byte> bytes, std::size_t count,
                 std::size_t elements, std::uint32_t blocks) {
  PositionCursor cursor = codec.start(ByteReader(bytes), count, elements);
  Positions positions(count);
  for (std::size_t first = 0; first < count;) {
    const std::size_t n = std::min<std::size_t>(count - first, blocks % 1024);
    codec.decode(cursor, std::span(positions).subspan(first, n));
    first += n;
    blocks = blocks * 1664525 + 1013904223;
  }
  codec.finish(cursor);
  return positions;
}

std::vector<std::byte> encode(const PositionCodec& codec, const Positions& positions,
                              std::size_t elements) {
  const std::size_t bound = codec.max_size(positions.size(), elements);
  std::vector<std::byte> bytes(bound);
  ByteWriter out(bytes);
  codec.encode(positions, elements, out);
  require(out.size() <= bound, "positions are within their bound");
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(out.size())};
}

/// Gaps of one byte, or of four after a byte of 255.
Positions take_positions(Input& input, std::size_t elements) {
  Positions positions;
  std::uint64_t next = 0;
  while (!input.rest().empty()) {
    std::uint64_t gap = input.get<std::uint8_t>();
    if (gap == 255) gap = input.get<std::uint32_t>();
    next += gap;
    if (next >= elements) break;
    positions.push_back(static_cast<std::uint32_t>(next++));
  }
  return positions;
}

void check_bytes(Input& input, std::size_t elements, std::uint32_t blocks) {
  const auto& names = position_codec_names();
  const std::string& name = names[input.get<std::uint8_t>() % names.size()];
  const std::size_t count = std::min<std::size_t>(input.get<std::uint16_t>(), elements);
  if (!can_address(name, elements)) return;
  const auto codec = make_position_codec(name);
  const std::vector<std::byte> bytes(input.rest().begin(), input.rest().end());
  Positions positions;
  try {
    positions = decode(*codec, bytes, count, elements, blocks);
  } catch (const PayloadError&) {
    return;
  }
  std::uint64_t next = 0;
  for (std::uint32_t position : positions) {
    require(position >= next && position < elements, name + " gives positions");
    next = std::uint64_t{position} + 1;
  }
  require(decode(*codec, encode(*codec, positions, elements), count, elements, 7) == positions,
          name + " writes what it read");
}

}  // namespace
}  // namespace thinpipe::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace thinpipe;
  fuzz::Input input(data, size);
  const bool bytes = input.get<std::uint8_t>() % 2 == 1;
  const std::uint32_t blocks = input.get<std::uint8_t>() * 4U;
  const std::size_t elements = input.get<std::uint32_t>();
  if (bytes) {
    fuzz::check_bytes(input, elements, blocks);
    return 0;
  }
  const auto positions = fuzz::take_positions(input, elements);
  for (const std::string& name : position_codec_names()) {
    if (!fuzz::can_address(name, elements)) continue;
    const auto codec = make_position_codec(name);
    const auto encoded = fuzz::encode(*codec, positions, elements);
    fuzz::require(fuzz::decode(*codec, encoded, positions.size(), elements, blocks) == positions,
                  name + " reads what it wrote");
  }
  return 0;
}
