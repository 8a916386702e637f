// GaussianK's selection. What exceeds the first threshold is compacted, and higher ones are counted
// in what was; a lower one, of which the small steps of the variant need none, is another pass.
#include "compressors/select/gaussiank.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "compressors/kernels/compact.h"
#include "compressors/kernels/cut.h"
#include "compressors/kernels/dispersion.h"
#include "compressors/select/distributions.h"

namespace thinpipe {
namespace {

class GaussianKSelector : public Selector {
 public:
  GaussianKSelector(std::size_t elements, GaussianKOptions options)
      : options_(std::move(options)), elements_(elements) {}

  std::size_t max_selected() const override { return elements_; }

  void select(Signal& signal, const SelectContext& context, Selection& selection) override {
    const auto c = signal.values();
    const double ratio = options_.ratio.at(context.epoch);
    const std::size_t k = target_count(ratio, c.size());
    selection.target = k;
    selection.count = 0;
    selection.passes = 0;
    selection.threshold = 0;
    if (k == 0) return;
    const Dispersion spread = signed_dispersion(c);
    const double first =
        spread.mean() + std::fabs(normal_quantile(ratio / 2)) * std::sqrt(spread.variance());
    selection.passes = 1;
    correct(c, k, first, options_.oktopk ? kOkTopKSteps : kGaussianKSteps, selection);
  }

 private:
  static void correct(std::span<const float> c, std::size_t k, double first,
                      const GaussianKSteps& steps, Selection& selection) {
    const auto keep = [&](std::int32_t limit) {
      selection.count = compact(c, KeyOrder::kMagnitude, limit, selection.positions.data(),
                                selection.values.data());
      ++selection.passes;
    };
    // A negative threshold, of a tensor with a negative mean, is exceeded by everything.
    std::int32_t least = key_above(first * steps.reach);
    keep(least);
    double threshold = first;
    std::int32_t limit = 0;  // set in the first round
    for (int round = 1;; ++round) {
      limit = key_above(threshold);
      if (limit < least) keep(least = limit);
      const std::size_t z = limit == least ? selection.count
                                           : count_at_least(selection.values.first(selection.count),
                                                            KeyOrder::kMagnitude, limit);
      if (round == steps.rounds) break;
      if (z * steps.parts < k * steps.few) {
        threshold /= steps.lower;
      } else if (z * steps.parts > k * steps.many) {
        threshold *= steps.raise;
      } else {
        break;
      }
    }
    selection.threshold = threshold;
    if (limit != least) selection.choose(cut_at(KeyOrder::kMagnitude, limit));
  }

  GaussianKOptions options_;
  std::size_t elements_;
};

}  // namespace

std::unique_ptr<Selector> make_gaussiank_selector(std::size_t elements,
                                                  const GaussianKOptions& options) {
  return std::make_unique<GaussianKSelector>(elements, options);
}

}  // namespace thinpipe
