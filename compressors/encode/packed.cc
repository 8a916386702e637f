// Blocks of kPackedBlock gaps (zeros before each position); every block has one byte that says how
// many bits its largest gap needs, then all of them in so many bits, filled up to a whole byte.
// What search engines call frame-of-reference or bit-packed delta coding; see Lemire and Boytsov,
// "Decoding billions of integers per second through vectorization", 2015.
#include <array>
#include <cmath>

#include "compressors/encode/position_codec.h"

namespace thinpipe {
namespace {

constexpr std::size_t kPackedBlock = 128;
constexpr int kMostWidth = 32;

/// Bytes of a block of `gaps`.
std::size_t block_bytes(std::size_t gaps, int width) {
  return (gaps * static_cast<std::size_t>(width) + 7) / 8;
}

/// Widths of 0 to 28 bits: two gaps at once into the writer.
void put_gaps(BitWriter& out, std::span<const std::uint32_t> gaps, int width) {
  std::size_t i = 0;
  if (2 * width <= BitWriter::kMostBits) {
    for (; i + 2 <= gaps.size(); i += 2) {
      out.put(gaps[i] | std::uint64_t{gaps[i + 1]} << width, 2 * width);
    }
  }
  for (; i < gaps.size(); ++i) out.put(gaps[i], width);
}

class PackedCodec : public PositionCodec {
 public:
  std::size_t max_size(std::size_t max_count, std::size_t elements) const override {
    const std::size_t blocks = (max_count + kPackedBlock - 1) / kPackedBlock;
    // No gap is wider than the largest position. Fewer positions make neither more nor larger
    // blocks.
    const int widest = static_cast<int>(std::bit_width(elements));
    std::size_t least = max_count / kPackedBlock * block_bytes(kPackedBlock, widest) +
                        block_bytes(max_count % kPackedBlock, widest);
    // The largest gaps of all blocks sum to d at most, and a gap z needs no more than j + z / 2^j
    // bits, for any j (see most_digits_in_all in elias.cc; a gap of 0 needs none).
    for (std::size_t j = 0; j <= kMostWidth; ++j) {
      least = std::min(least, kPackedBlock / 8 * (blocks * j + (elements >> j)));
    }
    return blocks + least;
  }
  void encode(std::span<const std::uint32_t> positions, std::size_t /*elements*/,
              ByteWriter& out) const override {
    std::array<std::uint32_t, kPackedBlock> gaps;
    std::uint32_t next = 0;  // d < 2^32, so that one more than a position fits
    for (std::size_t i = 0; i < positions.size(); i += kPackedBlock) {
      const auto block = positions.subspan(i, std::min(kPackedBlock, positions.size() - i));
      gaps[0] = block[0] - next;
      for (std::size_t k = 1; k < block.size(); ++k) gaps[k] = block[k] - block[k - 1] - 1;
      next = block.back() + 1;
      std::uint32_t all = 0;
      for (std::size_t k = 0; k < block.size(); ++k) all |= gaps[k];
      const int width = static_cast<int>(std::bit_width(all));
      out.put(static_cast<std::uint8_t>(width));
      BitWriter writer(out.free());
      put_gaps(writer, std::span(gaps).first(block.size()), width);
      out.advance(writer.finish());
    }
  }
  PositionCursor start(ByteReader bytes, std::size_t count, std::size_t elements) const override {
    return {.bytes = bytes, .count = count, .elements = elements};
  }
  void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const override {
    while (!positions.empty()) {
      if (cursor.left == 0) open_block(cursor);
      const auto part = positions.first(std::min<std::size_t>(cursor.left, positions.size()));
      const auto bytes = cursor.bits.bytes();
      const auto width = static_cast<std::uint64_t>(cursor.parameter);
      const std::uint64_t mask = (std::uint64_t{1} << width) - 1;
      std::uint64_t bit = cursor.bits.at();
      std::uint64_t next = cursor.next;
      for (std::uint32_t& position : part) {
        next += load_word(bytes, bit / 8) >> (bit % 8) & mask;
        bit += width;
        position = static_cast<std::uint32_t>(next++);
      }
      cursor.bits.skip(width * part.size());
      cursor.accept_up_to(next);
      cursor.left -= part.size();
      cursor.count -= part.size();
      if (cursor.left == 0) cursor.bits.expect_end();
      positions = positions.subspan(part.size());
    }
  }
  void finish(const PositionCursor& cursor) const override { cursor.bytes.expect_end(); }
  double expected_bits(double density) const override {
    // The mean width is the sum over j of P(the largest of kPackedBlock gaps needs more than j
    // bits), and a gap is below 2^j with probability 1 - (1 - p)^(2^j).
    double width = 0;
    for (int j = 0; j < kMostWidth && density < 1; ++j) {
      const double below = -std::expm1(std::ldexp(std::log1p(-density), j));
      width += 1 - std::pow(below, static_cast<double>(kPackedBlock));
    }
    return width + 8.0 / kPackedBlock;
  }

 private:
  static void open_block(PositionCursor& cursor) {
    cursor.parameter = cursor.bytes.get<std::uint8_t>("the width of a block");
    if (cursor.parameter > kMostWidth) {
      throw PayloadError("width " + std::to_string(cursor.parameter) +
                         " of a block in the payload; expected at most " +
                         std::to_string(kMostWidth));
    }
    cursor.left = std::min<std::uint64_t>(kPackedBlock, cursor.count);
    cursor.bits = BitReader(
        cursor.bytes.get_bytes(block_bytes(cursor.left, cursor.parameter), "a block of gaps"));
  }
};

}  // namespace

std::unique_ptr<PositionCodec> make_packed_codec() { return std::make_unique<PackedCodec>(); }

}  // namespace thinpipe
