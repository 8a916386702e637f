// Lengths of the runs of zeros before each position, 16 bits each (DGC alg. 1). The word 65535
// stands for that many zeros without a position after them, so that longer runs are split.
#include "compressors/encode/position_codec.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "compressors/kernels/parallel.h"

namespace thinpipe {
namespace {

constexpr std::uint64_t kSplit = 65535;
/// Words that are made at a time: they stay in the first-level cache.
constexpr std::size_t kRunBlock = 1024;

/// Writes a word for each of positions [begin, end). @returns whether no run had to be split.
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
    // Where no run is split, which is nearly always, a word's place is known.
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
