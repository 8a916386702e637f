// Uncompressed positions, positions in 28 bits, a bitmap, 16-bit runs and packed gaps; and all
// position codecs by name.
#include "compressors/encode/position_codec.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
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
  void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const override {
    const auto bytes = cursor.bytes.get_bytes(positions.size_bytes(), "positions");
    if (!bytes.empty()) std::memcpy(positions.data(), bytes.data(), bytes.size());
    cursor.take_all(positions);
  }
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

// Codec of the lengths of the runs of zeros before each position, 16 bits each (DGC alg. 1). The
// word 65535 means 65535 zeros that are not followed by a position. A run of 65535 or more zeros is
// therefore split into several words.

constexpr std::uint64_t kSplit = 65535;
/// Words made at a time: they stay in the first-level cache.
constexpr std::size_t kRunBlock = 1024;

/// Writes one 16-bit word for each of the positions with index `begin` to `end` - 1.
/// @returns true where no run had to be split.
bool write_runs(std::span<const std::uint32_t> positions, std::size_t begin, std::size_t end,
                std::byte* out) {
  std::array<std::uint16_t, kRunBlock> words;
  std::uint32_t longest = 0;
  for (std::size_t at = begin; at < end; at += kRunBlock) {
    const std::size_t n = std::min(kRunBlock, end - at);
    const std::uint32_t* const own = positions.data() + at;
    const auto first = at == 0 ? own[0] : own[0] - own[-1] - 1;
    longest = std::max(longest, first);
    words[0] = static_cast<std::uint16_t>(first);
    for (std::size_t i = 1; i < n; ++i) {
      const std::uint32_t run = own[i] - own[i - 1] - 1;
      longest = std::max(longest, run);
      words[i] = static_cast<std::uint16_t>(run);
    }
    std::memcpy(out + at * sizeof(std::uint16_t), words.data(), n * sizeof(std::uint16_t));
  }
  return longest < kSplit;
}

class Run16Codec : public PositionCodec {
 public:
  std::size_t max_size(std::size_t max_count, std::size_t elements) const override {
    return (max_count + elements / kSplit) * sizeof(std::uint16_t);
  }
  void encode(std::span<const std::uint32_t> positions, std::size_t /*elements*/,
              ByteWriter& out) const override {
    // A word's offset is known if no run is split, which is nearly always the case.
    std::atomic<bool> whole = true;
    parallel_stretches(positions.size(), kRunBlock, [&](std::size_t begin, std::size_t end) {
      if (!write_runs(positions, begin, end, out.free().data())) whole = false;
    });
    if (whole) return out.advance(positions.size() * sizeof(std::uint16_t));
    std::uint64_t next = 0;
    for (std::uint32_t position : positions) {
      std::uint64_t run = position - next;
      for (; run >= kSplit; run -= kSplit) out.put(static_cast<std::uint16_t>(kSplit));
      out.put(static_cast<std::uint16_t>(run));
      next = std::uint64_t{position} + 1;
    }
  }
  void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const override {
    std::uint64_t next = cursor.next;
    for (std::size_t i = 0; i < positions.size();) {
      // Each word gives one position, or none if it is kSplit. The missing positions therefore need
      // at least one word each.
      const auto words =
          cursor.bytes.get_bytes((positions.size() - i) * sizeof(std::uint16_t), "run lengths");
      for (std::size_t at = 0; at < words.size(); at += sizeof(std::uint16_t)) {
        std::uint16_t word;
        std::memcpy(&word, words.data() + at, sizeof word);
        next += word;  // no payload has 2^64 zeros
        positions[i] = static_cast<std::uint32_t>(next);
        const bool selected = word != kSplit;
        next += selected ? 1 : 0;
        i += selected ? 1 : 0;
      }
    }
    if (!positions.empty()) cursor.accept_up_to(next);
  }
  double expected_bits(double density) const override {
    // A gap of n zeros needs floor(n / 65535) additional words. Their mean number is the sum of
    // q^(65535 i) over i >= 1, where q = 1 - density.
    const double split = std::exp(static_cast<double>(kSplit) * std::log1p(-density));
    return density >= 1 ? 16 : 16 * (1 + split / (1 - split));
  }
};

// Codec of blocks of kPackedBlock gaps (the number of zeros before each position). Every block
// begins with one byte, the number of bits of its largest gap. All gaps follow with this number of
// bits each, padded to a whole byte. Search engines call this frame-of-reference or bit-packed
// delta coding; see Lemire and Boytsov, "Decoding billions of integers per second through
// vectorization", 2015.

constexpr std::size_t kPackedBlock = 128;
constexpr int kMaxWidth = 32;

/// Returns the bytes of a block of `gaps`.
std::size_t block_bytes(std::size_t gaps, int width) {
  return (gaps * static_cast<std::size_t>(width) + 7) / 8;
}

/// Writes gaps. For widths of 0 to 28 bits, two gaps go into the writer at once.
void put_gaps(BitWriter& out, std::span<const std::uint32_t> gaps, int width) {
  std::size_t i = 0;
  if (2 * width <= BitWriter::kMaxBits) {
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
    // The largest gaps of all blocks sum to at most d, the number of elements. A gap z needs at
    // most j + z / 2^j bits, for any j (see most_digits_in_all in gap_codes.cc); a gap of 0 needs
    // no bits.
    for (std::size_t j = 0; j <= kMaxWidth; ++j) {
      least = std::min(least, kPackedBlock / 8 * (blocks * j + (elements >> j)));
    }
    return blocks + least;
  }
  void encode(std::span<const std::uint32_t> positions, std::size_t /*elements*/,
              ByteWriter& out) const override {
    std::array<std::uint32_t, kPackedBlock> gaps;
    std::uint32_t next = 0;  // d < 2^32, so that a position plus 1 fits
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
  double expected_bits(double density) const override {
    // The mean width is the sum over j of P(the largest of kPackedBlock gaps needs more than j
    // bits), and a gap is below 2^j with probability 1 - (1 - p)^(2^j).
    double width = 0;
    for (int j = 0; j < kMaxWidth && density < 1; ++j) {
      const double below = -std::expm1(std::ldexp(std::log1p(-density), j));
      width += 1 - std::pow(below, static_cast<double>(kPackedBlock));
    }
    return width + 8.0 / kPackedBlock;
  }

 private:
  static void open_block(PositionCursor& cursor) {
    cursor.parameter = cursor.bytes.get<std::uint8_t>("the width of a block");
    if (cursor.parameter > kMaxWidth) {
      throw PayloadError("width " + std::to_string(cursor.parameter) +
                         " of a block in the payload; expected at most " +
                         std::to_string(kMaxWidth));
    }
    cursor.left = std::min<std::uint64_t>(kPackedBlock, cursor.count);
    cursor.bits = BitReader(
        cursor.bytes.get_bytes(block_bytes(cursor.left, cursor.parameter), "a block of gaps"));
  }
};

template <class Codec>
std::unique_ptr<PositionCodec> make_positions() {
  return std::make_unique<Codec>();
}

constexpr std::pair<const char*, std::unique_ptr<PositionCodec> (*)()> kPositionCodecs[] = {
    {"raw32", make_positions<Raw32Codec>},   {"index28", make_positions<Index28Codec>},
    {"bitmap", make_positions<BitmapCodec>}, {"golomb", make_golomb_codec},
    {"elias_gamma", make_elias_gamma_codec}, {"elias_delta", make_elias_delta_codec},
    {"packed", make_positions<PackedCodec>}, {"run16", make_positions<Run16Codec>}};

}  // namespace

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
