// One bit for every element of the tensor, set where it was selected.
#include "compressors/encode/position_codec.h"

namespace thinpipe {
namespace {

class BitmapCodec : public PositionCodec {
 public:
  std::size_t max_size(std::size_t /*max_count*/, std::size_t elements) const override {
    return (elements + 7) / 8;
  }
  void encode(std::span<const std::uint32_t> positions, std::size_t elements,
              ByteWriter& out) const override {
    const std::size_t size = (elements + 7) / 8;
    const auto bytes = out.free().first(size);
    // Words are filled in a register and written once, empty ones between them included.
    std::size_t at = 0;
    std::uint64_t word = 0;
    const auto write = [&bytes, &at, &word] {
      if (at + sizeof word <= bytes.size()) [[likely]] {
        std::memcpy(bytes.data() + at, &word, sizeof word);
        at += sizeof word;
      } else {
        for (; at < bytes.size(); ++at, word >>= 8) bytes[at] = static_cast<std::byte>(word);
      }
      word = 0;
    };
    for (std::uint32_t position : positions) {
      while (position / 64 > at / sizeof word) write();
      word |= std::uint64_t{1} << (position % 64);
    }
    while (at < size) write();
    out.advance(size);
  }
  PositionCursor start(ByteReader bytes, std::size_t /*count*/,
                       std::size_t elements) const override {
    PositionCursor cursor{.bytes = bytes, .elements = elements};
    cursor.bits = BitReader(cursor.bytes.get_bytes((elements + 7) / 8, "the bitmap"));
    cursor.left = load_word(cursor.bits.bytes(), 0);
    return cursor;
  }
  void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const override {
    if (positions.empty()) return;
    // `left` holds the ones not given out of the word at bit bits.at().
    const auto bytes = cursor.bits.bytes();
    std::uint64_t word = cursor.left;
    std::uint64_t base = cursor.bits.at();
    std::uint64_t position = 0;
    for (std::uint32_t& out : positions) {
      while (word == 0) {
        base += 64;
        if (base / 8 >= bytes.size()) throw PayloadError("bitmap in the payload has too few ones");
        word = load_word(bytes, base / 8);
      }
      position = base + static_cast<std::uint64_t>(std::countr_zero(word));
      out = static_cast<std::uint32_t>(position);
      word &= word - 1;
    }
    cursor.bits.skip(base - cursor.bits.at());
    cursor.left = word;
    cursor.accept_up_to(position + 1);  // a one after the last element is none
  }
  void finish(const PositionCursor& cursor) const override {
    cursor.bytes.expect_end();
    std::uint64_t rest = cursor.left;
    for (std::size_t at = cursor.bits.at() / 8 + 8; at < cursor.bits.bytes().size(); at += 8) {
      rest |= load_word(cursor.bits.bytes(), at);
    }
    if (rest != 0) throw PayloadError("bitmap in the payload has too many ones");
  }
  double expected_bits(double density) const override { return 1 / density; }
};

}  // namespace

std::unique_ptr<PositionCodec> make_bitmap_codec() { return std::make_unique<BitmapCodec>(); }

}  // namespace thinpipe
