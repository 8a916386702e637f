// Gathers what lies at the drawn positions.
#include "compressors/select/random_k.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "compressors/kernels/parallel.h"

namespace thinpipe {
namespace {

/// Positions read at a time; the elements of the next few of them are asked for.
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
    selection.passes = 0;  // only what is sent is looked at
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
  /// Fills the selection from `at` on with n elements, those from position `first` on.
  /// @returns the last one's position
  std::uint32_t gather(std::span<const float> c, std::uint64_t first, float factor, std::size_t at,
                       std::size_t n, Selection& selection) const {
    const std::span positions(selection.positions.data() + at, n);
    positions_->read(first, positions);
    for (std::size_t i = 0; i < n; ++i) {
      if (i + kAhead < n) __builtin_prefetch(c.data() + positions[i + kAhead]);
      selection.values[at + i] = factor * c[positions[i]];
    }
    return positions[n - 1];
  }

  RatioSchedule ratio_;
  std::size_t elements_;
  bool unbiased_;
  std::shared_ptr<SeededPositions> positions_;
};

}  // namespace

std::unique_ptr<Selector> make_random_k_selector(std::size_t elements, const RatioSchedule& ratio,
                                                 bool unbiased,
                                                 std::shared_ptr<SeededPositions> positions) {
  return std::make_unique<RandomKSelector>(elements, ratio, unbiased, std::move(positions));
}

}  // namespace thinpipe
