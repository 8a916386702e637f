// GaussianK takes its threshold from a fitted normal distribution. Elements above the first
// threshold are compacted, and higher thresholds are counted among the compacted elements. A lower
// threshold takes another pass over the tensor. variant=oktopk needs no such pass for its small
// steps, because it compacts from 0.68 of the first threshold on.
#include <cmath>
#include <memory>
#include <utility>

#include "compressors/kernels/select.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/selectors.h"
#include "compressors/methods/sparse.h"
#include "compressors/select/distributions.h"

namespace thinpipe {
namespace {

class GaussianKSelector : public Selector {
 public:
  GaussianKSelector(std::size_t elements, GaussianKOptions options)
      : options_(std::move(options)), elements_(elements) {}

  std::size_t max_selected() const override { return elements_; }

  void select(Signal& signal, const SelectContext& context, Selection& selection) override {
    const double ratio = options_.ratio.at(context.epoch);
    const std::size_t k = target_count(ratio, signal.size());
    if (!selection.begin(k)) return;
    const Dispersion spread = signal.signed_dispersion();
    const double first =
        spread.mean() + std::fabs(normal_quantile(ratio / 2)) * std::sqrt(spread.variance());
    selection.passes = 1;
    correct(signal.values(), k, first, options_.oktopk ? kOkTopKSteps : kGaussianKSteps, selection);
  }

 private:
  static void correct(std::span<const float> c, std::size_t k, double first,
                      const GaussianKSteps& steps, Selection& selection) {
    const auto keep = [&](std::int32_t limit) {
      selection.count = compact(c, KeyOrder::kMagnitude, limit, selection.positions.data(),
                                selection.values.data());
      ++selection.passes;
    };
    // A tensor with a negative mean can give a negative threshold, which every element exceeds.
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

const Registration kGaussianK{sparse_method({
    .name = "gaussiank",
    .summary = "magnitudes above a threshold from a fitted normal distribution",
    .source = "Shi et al., Understanding top-k sparsification, 2019, alg. 1; variant=oktopk: Li "
              "and Hoefler, PPoPP 2022",
    .parameters = {choice_parameter("variant", "paper", "how the threshold is corrected",
                                    {"paper", "oktopk"})},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_gaussiank_selector(
              tensor.elements,
              {.ratio = ratio_of(parameters), .oktopk = parameters.choice("variant") == "oktopk"});
        },
})};

}  // namespace

std::unique_ptr<Selector> make_gaussiank_selector(std::size_t elements,
                                                  const GaussianKOptions& options) {
  return std::make_unique<GaussianKSelector>(elements, options);
}

}  // namespace thinpipe
