// Uncompressed positions, positions in 28 bits, and a bitmap; and all position codecs by name.
#include "compressors/encode/position_codec.h"

#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "compressors/kernels/parallel.h"

namespace thinpipe {
namespace {

/// Writes uncompressed positions: the baseline of published sparsifiers.
class Raw32Codec : public PositionCodec {
 public:
  std::size_t max_size(std::size_t max_count, std::size_t /*elements*/) const override {
    return max_count * sizeof(std::uint32_t);
  }
  void encode(std::span<const std::uint32_t> positions, std::size_t /*elements*/,
              ByteWriter& out) const override {
    copy_bytes(out.free().data(), positions.data(), positions.size_bytes());
    out.advance(positions.size_bytes());
  }
  PositionCursor start(ByteReader bytes, std::size_t /*count*/,
                       std::size_t elements) const override {
    return {.bytes = bytes, .elements = elements};
  }
  void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const override {
    const auto bytes = cursor.bytes.get_bytes(positions.size_bytes(), "positions");
    if (!bytes.empty()) std::memcpy(positions.data(), bytes.data(), bytes.size());
    cursor.take_all(positions);
  }
  void finish(const PositionCursor& cursor) const override { cursor.bytes.expect_end(); }
  bool verbatim() const override { return true; }
  double expected_bits(double /*density*/) const override { return 32; }
};

// Packs positions in 28 bits each, which is what a 4-bit value leaves of a 32-bit word (Tsuzuku et
// al., section 4.2). The codec cannot address tensors of more than 2^28 elements and refuses them.

constexpr int kIndexBits = 28;
constexpr std::size_t kMaxIndexed = std::size_t{1} << kIndexBits;

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
          static_cast<std::uint32_t>(load_word(bytes, bit / 8) >> (bit % 8)) & (kMaxIndexed - 1);
    }
    cursor.take_all(positions);
  }
  void finish(const PositionCursor& cursor) const override { cursor.bits.expect_end(); }
  double expected_bits(double /*density*/) const override { return kIndexBits; }

 private:
  static void check(std::size_t elements) {
    if (elements > kMaxIndexed) {
      throw InputError("a tensor of " + std::to_string(elements) +
                       " elements with positions=index28; expected at most 2^28 = " +
                       std::to_string(kMaxIndexed));
    }
  }
};

/// Writes one bit for every element of the tensor, set where the element was selected.
class BitmapCodec : public PositionCodec {
 public:
  std::size_t max_size(std::size_t /*max_count*/, std::size_t elements) const override {
    return (elements + 7) / 8;
  }
  void encode(std::span<const std::uint32_t> positions, std::size_t elements,
              ByteWriter& out) const override {
    const std::size_t size = (elements + 7) / 8;
    const auto bytes = out.free().first(size);
    // Words are filled in a register and written once, including empty ones in between.
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
    // `left` holds the ones not yet returned of the word at bit bits.at().
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
    cursor.accept_up_to(position + 1);  // refuses a one after the last element
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

using MakePositionCodec = std::unique_ptr<PositionCodec> (*)();
constexpr std::pair<const char*, MakePositionCodec> kPositionCodecs[] = {
    {"raw32", make_raw32_codec},
    {"index28", make_index28_codec},
    {"bitmap", make_bitmap_codec},
    {"golomb", make_golomb_codec},
    {"elias_gamma", make_elias_gamma_codec},
    {"elias_delta", make_elias_delta_codec},
    {"packed", make_packed_codec},
    {"run16", make_run16_codec}};

}  // namespace

std::unique_ptr<PositionCodec> make_raw32_codec() { return std::make_unique<Raw32Codec>(); }

std::unique_ptr<PositionCodec> make_index28_codec() { return std::make_unique<Index28Codec>(); }

std::unique_ptr<PositionCodec> make_bitmap_codec() { return std::make_unique<BitmapCodec>(); }

const std::vector<std::string>& position_codec_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, make] : kPositionCodecs) list.emplace_back(name);
    return list;
  }();
  return names;
}

std::unique_ptr<PositionCodec> make_position_codec(const std::string& name) {
  for (const auto& [known, make] : kPositionCodecs) {
    if (name == known) return make();
  }
  throw InputError("unknown position codec '" + name + "'");
}

}  // namespace thinpipe
