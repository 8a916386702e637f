// SBC's selection: two exact selections, one of which is kept.
#include "compressors/select/sbc.h"

#include <cmath>
#include <utility>

#include "compressors/kernels/compact.h"
#include "compressors/select/top_k.h"

namespace thinpipe {
namespace {

double sum(const Selection& selection) {
  double total = 0;
  for (float value : selection.values.first(selection.count)) total += static_cast<double>(value);
  return total;
}

class SbcSelector : public Selector {
 public:
  SbcSelector(std::size_t elements, RatioSchedule ratio)
      : ratio_(std::move(ratio)), elements_(elements), top_k_(elements) {
    smallest_.positions = Buffer<std::uint32_t>(elements + kCompactSlack);
    smallest_.values = Buffer<float>(elements + kCompactSlack);
  }

  std::size_t max_selected() const override { return target_count(ratio_.greatest(), elements_); }

  void select(std::span<const float> c, const SelectContext& context,
              Selection& selection) override {
    const std::size_t k = target_count(ratio_.at(context.epoch), c.size());
    selection.target = k;
    top_k_.select(c, KeyOrder::kLargest, k, selection);
    top_k_.select(c, KeyOrder::kSmallest, k, smallest_);
    selection.passes += smallest_.passes;
    // Means of k each compare as their sums do. A NaN on either side keeps the largest.
    if (-sum(smallest_) > sum(selection)) {
      std::swap(selection.positions, smallest_.positions);
      std::swap(selection.values, smallest_.values);
      std::swap(selection.count, smallest_.count);
    }
    double least = k == 0 ? 0 : std::numeric_limits<double>::infinity();
    for (float value : selection.values.first(selection.count)) {
      least = std::min(least, static_cast<double>(std::fabs(value)));
    }
    selection.threshold = least;
  }

 private:
  RatioSchedule ratio_;
  std::size_t elements_;
  TopK top_k_;
  Selection smallest_;
};

}  // namespace

std::unique_ptr<Selector> make_sbc_selector(std::size_t elements, const RatioSchedule& ratio) {
  return std::make_unique<SbcSelector>(elements, ratio);
}

}  // namespace thinpipe
