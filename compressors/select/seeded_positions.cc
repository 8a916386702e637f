// The bitmap and the codec that shares it.
#include "compressors/select/seeded_positions.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <utility>

#include "compressors/kernels/bit_count.h"
#include "compressors/kernels/parallel.h"
#include "compressors/random.h"

namespace thinpipe {
namespace {

constexpr std::size_t kWord = 64;
/// Numbers whose words are asked for before they are set: 16 KiB of lines, in the first-level
/// cache.
constexpr std::size_t kSeededBlock = 256;
constexpr std::size_t kLineWords = 8;  ///< of a cache line: no two threads write to one
/// Fewer numbers than these are not worth a second thread.
constexpr std::size_t kMinParallelDraws = 10000;

class SeededCodec : public PositionCodec {
 public:
  explicit SeededCodec(std::shared_ptr<SeededPositions> positions)
      : positions_(std::move(positions)) {}

  std::size_t max_size(std::size_t /*max_count*/, std::size_t /*elements*/) const override {
    return sizeof(std::uint32_t);
  }
  void encode(std::span<const std::uint32_t> positions, std::size_t /*elements*/,
              ByteWriter& out) const override {
    if (positions.size() != positions_->count()) {
      throw InputError("positions=seeded must send all " + std::to_string(positions_->count()) +
                       " elements drawn, but the value codec sends " +
                       std::to_string(positions.size()) + "; expected one that drops none");
    }
    out.put(positions_->tag());
  }
  PositionCursor start(ByteReader bytes, std::size_t count, std::size_t elements) const override {
    PositionCursor cursor{.bytes = bytes, .bits = {}, .elements = elements};
    positions_->draw(cursor.bytes.get<std::uint32_t>("the step tag"), count);
    return cursor;
  }
  void decode(PositionCursor& cursor, std::span<std::uint32_t> positions) const override {
    if (positions.empty()) return;
    positions_->read(cursor.next, positions);
    cursor.next = std::uint64_t{positions.back()} + 1;
  }
  void finish(const PositionCursor& cursor) const override { cursor.bytes.expect_end(); }
  double expected_bits(double /*density*/) const override { return 0; }

 private:
  std::shared_ptr<SeededPositions> positions_;
};

}  // namespace

SeededPositions::SeededPositions(std::size_t elements, std::uint64_t seed)
    : seed_(seed), elements_(elements), bitmap_((elements + kWord - 1) / kWord) {}

void SeededPositions::draw(std::uint32_t tag, std::size_t count) {
  if (count == count_ && tag == tag_) return;
  tag_ = tag;
  count_ = count;
  const bool others = count > elements_ / 2;
  const std::size_t draws = others ? elements_ - count : count;
  const auto words = bitmap_.first(bitmap_.size());
  const SplitMix64 random(SplitMix64::mix(seed_ ^ SplitMix64::mix(tag)));
  // As many numbers as positions are missing never draw too many of them: they can be drawn in any
  // order, on every thread those that fall into its part of the bitmap.
  std::size_t drawn = 0;
  std::size_t numbers = 0;
  do {
    const std::size_t some = draws - drawn;
    const int threads = some < kMinParallelDraws ? 1 : threads_for(elements_);
    const auto parts = static_cast<std::size_t>(threads);
    std::atomic<std::size_t> fresh = 0;
    parallel_parts(parts, threads, [&](std::size_t part) {
      const auto cut = [&](std::size_t i) {
        return i == parts ? words.size() : words.size() / kLineWords * i / parts * kLineWords;
      };
      if (numbers == 0) std::fill(words.data() + cut(part), words.data() + cut(part + 1), 0);
      SplitMix64 own = random;
      own.skip(numbers);
      fresh += set_drawn(own, some, cut(part), cut(part + 1));
    });
    numbers += some;
    drawn += fresh;
  } while (drawn < draws);
  if (!others) return;
  for (std::uint64_t& word : words) word = ~word;
  if (elements_ % kWord != 0) words.back() &= (std::uint64_t{1} << (elements_ % kWord)) - 1;
}

std::size_t SeededPositions::set_drawn(SplitMix64 random, std::size_t numbers, std::size_t begin,
                                       std::size_t end) {
  std::array<std::uint32_t, kSeededBlock> inside;
  std::size_t fresh = 0;
  for (std::size_t first = 0; first < numbers; first += kSeededBlock) {
    std::size_t count = 0;
    for (std::size_t i = first; i < std::min(first + kSeededBlock, numbers); ++i) {
      const std::uint64_t at = random.below(elements_);
      inside[count] = static_cast<std::uint32_t>(at);
      count += at / kWord - begin < end - begin ? 1 : 0;
    }
    const auto mine = std::span(inside).first(count);
    for (std::uint32_t at : mine) __builtin_prefetch(&bitmap_[at / kWord], 1);
    for (std::uint32_t at : mine) {
      std::uint64_t& word = bitmap_[at / kWord];
      const std::uint64_t bit = std::uint64_t{1} << (at % kWord);
      fresh += (word & bit) == 0 ? 1 : 0;
      word |= bit;
    }
  }
  return fresh;
}

std::size_t SeededPositions::rank(std::uint64_t position) const {
  if (position == elements_) return count_;
  const std::size_t words = position / kWord;
  const std::size_t count = count_bits(bitmap_.first(words));
  if (position % kWord == 0) return count;
  const std::uint64_t below = (std::uint64_t{1} << (position % kWord)) - 1;
  return count + static_cast<std::size_t>(std::popcount(bitmap_[words] & below));
}

void SeededPositions::read(std::uint64_t first, std::span<std::uint32_t> positions) const {
  std::size_t filled = 0;
  std::uint64_t skipped = ~std::uint64_t{0} << (first % kWord);
  for (std::size_t at = first / kWord; filled < positions.size();
       ++at, skipped = ~std::uint64_t{0}) {
    for (std::uint64_t word = bitmap_[at] & skipped; word != 0 && filled < positions.size();
         word &= word - 1) {
      positions[filled++] =
          static_cast<std::uint32_t>(at * kWord + static_cast<std::size_t>(std::countr_zero(word)));
    }
  }
}

std::unique_ptr<PositionCodec> make_seeded_codec(std::shared_ptr<SeededPositions> positions) {
  return std::make_unique<SeededCodec>(std::move(positions));
}

}  // namespace thinpipe
