// Lengths of the runs of zeros before each position, 16 bits each (DGC alg. 1). The word 65535
// stands for that many zeros without a position after them, so that longer runs are split.
#include "compressors/encode/position_codec.h"

#include <cmath>

namespace thinpipe {
namespace {

constexpr std::uint64_t kSplit = 65535;

class Run16Codec : public PositionCodec {
 public:
  std::size_t max_size(std::size_t max_count, std::size_t elements) const override {
    return (max_count + elements / kSplit) * sizeof(std::uint16_t);
  }
  void encode(std::span<const std::uint32_t> positions, std::size_t /*elements*/,
              ByteWriter& out) const override {
    std::uint64_t next = 0;
    for (std::uint32_t position : positions) {
      std::uint64_t run = position - next;
      for (; run >= kSplit; run -= kSplit) out.put(static_cast<std::uint16_t>(kSplit));
      out.put(static_cast<std::uint16_t>(run));
      next = std::uint64_t{position} + 1;
    }
  }
  PositionCursor start(ByteReader bytes, std::size_t /*count*/,
                       std::size_t elements) const override {
    return {.bytes = bytes, .elements = elements};
  }
  void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const override {
    std::uint64_t next = cursor.next;
    for (std::size_t i = 0; i < positions.size();) {
      // As many words as positions are wanted at least; each gives one, or none when it is kSplit.
      const auto words =
          cursor.bytes.get_bytes((positions.size() - i) * sizeof(std::uint16_t), "run lengths");
      for (std::size_t at = 0; at < words.size(); at += sizeof(std::uint16_t)) {
        std::uint16_t word;
        std::memcpy(&word, words.data() + at, sizeof word);
        next += word;  // no payload is long enough for 2^64 zeros
        positions[i] = static_cast<std::uint32_t>(next);
        const bool selected = word != kSplit;
        next += selected ? 1 : 0;
        i += selected ? 1 : 0;
      }
    }
    if (!positions.empty()) cursor.accept_up_to(next);
  }
  void finish(const PositionCursor& cursor) const override { cursor.bytes.expect_end(); }
  double expected_bits(double density) const override {
    // A gap of n zeros needs floor(n / 65535) more words; the sum of q^(65535 i) over i >= 1.
    const double split = std::exp(static_cast<double>(kSplit) * std::log1p(-density));
    return density >= 1 ? 16 : 16 * (1 + split / (1 - split));
  }
};

}  // namespace

std::unique_ptr<PositionCodec> make_run16_codec() { return std::make_unique<Run16Codec>(); }

}  // namespace thinpipe
