// Random-k: sender and receivers draw the same positions, which therefore cost no bytes. The set is
// a bitmap that selector and codec share; the selector reads the elements at its positions.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "base/both.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/random.h"
#include "compressors/kernels/select.h"
#include "compressors/methods/selectors.h"
#include "compressors/methods/sparse.h"

namespace thinpipe {
namespace {

constexpr std::size_t kWord = 64;
/// Random numbers drawn at a time. The bitmap words of their positions are prefetched into the
/// first-level cache, 16 KiB of cache lines, before the bits are set.
constexpr std::size_t kSeededBlock = 256;
constexpr std::size_t kLineWords = 8;  ///< of a cache line, which only one thread writes
/// Least number of draws for which a second thread is faster.
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
                       " drawn elements, but the value codec sends " +
                       std::to_string(positions.size()) + "; expected a codec that drops none");
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
  double expected_bits(double /*density*/) const override { return 0; }

 private:
  std::shared_ptr<SeededPositions> positions_;
};

/// Positions read at a time; the elements of the next kAhead of them are prefetched.
constexpr std::size_t kDrawnBlock = 1024;
constexpr std::size_t kAhead = 64;

class RandomKSelector : public Selector {
 public:
  RandomKSelector(std::size_t elements, RatioSchedule ratio, bool unbiased,
                  std::shared_ptr<SeededPositions> positions)
      : ratio_(std::move(ratio)),
        elements_(elements),
        unbiased_(unbiased),
        positions_(std::move(positions)) {}

  std::size_t max_selected() const override { return target_count(ratio_.greatest(), elements_); }

  void select(Signal& signal, const SelectContext& context, Selection& selection) override {
    const auto c = signal.values();
    const std::size_t k = target_count(ratio_.at(context.epoch), c.size());
    selection.target = selection.count = k;
    selection.threshold = std::numeric_limits<double>::quiet_NaN();
    selection.passes = 0;  // only sent elements are read
    positions_->draw(static_cast<std::uint32_t>(context.step), k);
    const float factor =
        unbiased_ && k > 0
            ? static_cast<float>(static_cast<double>(c.size()) / static_cast<double>(k))
            : 1.0F;
    const int threads = threads_for(c.size());
    const auto parts = static_cast<std::size_t>(threads);
    parallel_parts(parts, threads, [&](std::size_t part) {
      std::uint64_t next = c.size() * part / parts;
      const std::size_t end = positions_->rank(c.size() * (part + 1) / parts);
      for (std::size_t at = positions_->rank(next); at < end; at += kDrawnBlock) {
        next = gather(c, next, factor, at, std::min(kDrawnBlock, end - at), selection) + 1;
      }
    });
  }

 private:
  /// Fills n entries of the selection, from entry `at` on, with the next n drawn elements from
  /// position `first` on.
  /// @returns the position of the last of these elements
  std::uint32_t gather(std::span<const float> c, std::uint64_t first, float factor, std::size_t at,
                       std::size_t n, Selection& selection) const {
    const std::span positions(selection.positions.data() + at, n);
    positions_->read(first, positions);
    for (std::size_t i = 0; i < n; ++i) {
      if (i + kAhead < n) __builtin_prefetch(c.data() + positions[i + kAhead]);
      selection.values[at + i] = canonical(factor * c[positions[i]]);
    }
    return positions[n - 1];
  }

  RatioSchedule ratio_;
  std::size_t elements_;
  bool unbiased_;
  std::shared_ptr<SeededPositions> positions_;
};

OwnParts make_parts(const Parameters& parameters, const TensorInfo& tensor,
                    const CompressorSettings& settings) {
  const bool unbiased = parameters.flag("scale");
  if (unbiased && parameters.choice("memory") != "none") {
    throw InputError("compressor randomk: scale=true needs memory=none, found memory=" +
                     parameters.choice("memory") +
                     "; a memory sends dropped values later, so scaling would count them twice");
  }
  if (parameters.choice("values") == "exp4" && parameters.choice("positions") == "seeded") {
    throw InputError(
        "compressor randomk: values=exp4 drops small values, so receivers cannot derive the sent "
        "positions from positions=seeded; expected other values or positions");
  }
  auto drawn =
      std::make_shared<SeededPositions>(tensor.elements, settings.seed ^ hash_name(tensor.name));
  return {
      .selector = make_random_k_selector(tensor.elements, ratio_of(parameters), unbiased, drawn),
      .positions = make_seeded_codec(drawn)};
}

const Registration kRandomK{sparse_method({
    .name = "randomk",
    .summary = "random elements, the same positions for all workers",
    .source = "Stich et al., Sparsified SGD with memory, NeurIPS 2018; scale=true,memory=none is "
              "unbiased (Wangni et al., 2018)",
    .ratio = "0.01",
    .positions = "seeded",
    .parameters = {flag_parameter("scale", "false", "multiply values by d / k (memory=none only)")},
    .own = make_parts,
    // Without a memory, only the elements that are sent are read.
    .traffic =
        [](const Parameters& parameters) {
          const bool none = parameters.choice("memory") == "none";
          return EncodeTraffic{.inputs = none ? parameters.real("ratio") : 1};
        },
})};

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
  // Drawing exactly as many numbers as positions are missing never yields too many positions. The
  // numbers can therefore be drawn in any order: every thread draws all of them and sets the bits
  // in its range of the bitmap.
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

std::unique_ptr<Selector> make_random_k_selector(std::size_t elements, const RatioSchedule& ratio,
                                                 bool unbiased,
                                                 std::shared_ptr<SeededPositions> positions) {
  return std::make_unique<RandomKSelector>(elements, ratio, unbiased, std::move(positions));
}

}  // namespace thinpipe
