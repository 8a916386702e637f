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

/// How a threshold t is corrected that z elements exceed.
struct Steps {
  int rounds;         ///< counts
  std::size_t parts;  ///< of which k is made here
  std::size_t few;    ///< z is less than so many parts of k: t is divided by `lower`
  std::size_t many;   ///< z is more than so many: t is multiplied by `raise`
  double lower;
  double raise;
  double reach;  ///< what exceeds so much of the first threshold is compacted first
};
constexpr Steps kLarge{
    .rounds = 3, .parts = 3, .few = 2, .many = 4, .lower = 2, .raise = 1.5, .reach = 1};
/// 1.02^-19 = 0.686: no threshold is lower.
constexpr Steps kSmall{
    .rounds = 20, .parts = 4, .few = 3, .many = 5, .lower = 1.02, .raise = 1.02, .reach = 0.68};

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
    correct(c, k, first, options_.oktopk ? kSmall : kLarge, selection);
  }

 private:
  static void correct(std::span<const float> c, std::size_t k, double first, const Steps& steps,
                      Selection& selection) {
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
