// Gathers what lies at the drawn positions.
#include "compressors/select/random_k.h"

#include <limits>
#include <utility>

namespace thinpipe {
namespace {

class RandomKSelector : public Selector {
 public:
  RandomKSelector(std::size_t elements, RatioSchedule ratio, bool unbiased,
                  std::shared_ptr<SeededPositions> positions)
      : ratio_(std::move(ratio)),
        elements_(elements),
        unbiased_(unbiased),
        positions_(std::move(positions)) {}

  std::size_t max_selected() const override { return target_count(ratio_.greatest(), elements_); }

  void select(std::span<const float> c, const SelectContext& context,
              Selection& selection) override {
    const std::size_t k = target_count(ratio_.at(context.epoch), c.size());
    selection.target = selection.count = k;
    selection.threshold = std::numeric_limits<double>::quiet_NaN();
    selection.passes = 0;  // only what is sent is looked at
    positions_->draw(static_cast<std::uint32_t>(context.step), k);
    positions_->read(0, selection.positions.first(k));
    const float factor =
        unbiased_ && k > 0
            ? static_cast<float>(static_cast<double>(c.size()) / static_cast<double>(k))
            : 1.0F;
    for (std::size_t i = 0; i < k; ++i) {
      selection.values[i] = factor * c[selection.positions[i]];
    }
  }

 private:
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
