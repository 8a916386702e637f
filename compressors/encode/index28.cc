// Positions in 28 bits each, packed: what is left of a 32-bit word beside a 4-bit value (Tsuzuku et
// al., section 4.2). It cannot address tensors of more than 2^28 elements and refuses them.
#include "compressors/encode/position_codec.h"

namespace thinpipe {
namespace {

constexpr int kIndexBits = 28;
constexpr std::size_t kMostIndexed = std::size_t{1} << kIndexBits;

class Index28Codec : public PositionCodec {
 public:
  std::size_t max_size(std::size_t max_count, std::size_t elements) const override {
    check(elements);
    return (max_count * kIndexBits + 7) / 8;
  }
  void encode(std::span<const std::uint32_t> positions, std::size_t elements,
              ByteWriter& out) const override {
    check(elements);
    BitWriter writer(out.free());
    std::size_t i = 0;
    for (; i + 2 <= positions.size(); i += 2) {  // two make seven bytes
      writer.put(positions[i] | std::uint64_t{positions[i + 1]} << kIndexBits, 2 * kIndexBits);
    }
    if (i < positions.size()) writer.put(positions[i], kIndexBits);
    out.advance(writer.finish());
  }
  PositionCursor start(ByteReader bytes, std::size_t /*count*/,
                       std::size_t elements) const override {
    check(elements);
    PositionCursor cursor{.bytes = bytes, .elements = elements};
    cursor.bits = BitReader(cursor.bytes.rest());
    return cursor;
  }
  void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const override {
    const std::uint64_t first = cursor.bits.at();
    cursor.bits.skip(std::uint64_t{kIndexBits} * positions.size());
    const auto bytes = cursor.bits.bytes();
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const std::uint64_t bit = first + kIndexBits * i;
      positions[i] =
          static_cast<std::uint32_t>(load_word(bytes, bit / 8) >> (bit % 8)) & (kMostIndexed - 1);
    }
    cursor.take_all(positions);
  }
  void finish(const PositionCursor& cursor) const override { cursor.bits.expect_end(); }
  double expected_bits(double /*density*/) const override { return kIndexBits; }

 private:
  static void check(std::size_t elements) {
    if (elements > kMostIndexed) {
      throw InputError("a tensor of " + std::to_string(elements) +
                       " elements with positions=index28; expected at most 2^28 = " +
                       std::to_string(kMostIndexed));
    }
  }
};

}  // namespace

std::unique_ptr<PositionCodec> make_index28_codec() { return std::make_unique<Index28Codec>(); }

}  // namespace thinpipe
