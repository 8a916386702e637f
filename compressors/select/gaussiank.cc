// GaussianK's selection. Three rounds can only meet six thresholds, which one pass counts; the many
// small steps of the variant stay close to the first threshold: they count in what was compacted.
#include "compressors/select/gaussiank.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "compressors/kernels/compact.h"
#include "compressors/kernels/count.h"
#include "compressors/kernels/cut.h"
#include "compressors/kernels/dispersion.h"
#include "compressors/select/distributions.h"

namespace thinpipe {
namespace {

constexpr int kRounds = 3;
constexpr double kLower = 0.5;
constexpr double kRaise = 1.5;
constexpr int kSmallRounds = 20;
constexpr double kSmallStep = 1.02;
/// Below 1.02^-19 = 0.686: no probe of the variant is lower.
constexpr double kSmallReach = 0.68;

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
    if (options_.oktopk) {
      small_steps(c, k, first, selection);
    } else {
      large_steps(c, k, first, selection);
    }
  }

 private:
  static void large_steps(std::span<const float> c, std::size_t k, double first,
                          Selection& selection) {
    const std::array<double, 6> thresholds = {first,
                                              first * kLower,
                                              first * kRaise,
                                              first * kLower * kLower,
                                              first * kLower * kRaise,
                                              first * kRaise * kRaise};
    std::array<std::int32_t, 6> limits;
    std::array<std::size_t, 6> counts;
    std::transform(thresholds.begin(), thresholds.end(), limits.begin(), key_above);
    count_magnitudes(c, limits, counts);
    // `lowered` and `raised` say which of the six it is; their order does not matter, as halving is
    // exact.
    constexpr std::size_t kIndex[kRounds][kRounds] = {{0, 2, 5}, {1, 4, 0}, {3, 0, 0}};
    std::size_t lowered = 0;
    std::size_t raised = 0;
    for (int round = 1; round < kRounds; ++round) {
      const std::size_t z = counts[kIndex[lowered][raised]];
      if (3 * z < 2 * k) {
        ++lowered;
      } else if (3 * z > 4 * k) {
        ++raised;
      } else {
        break;
      }
    }
    const std::size_t last = kIndex[lowered][raised];
    selection.threshold = thresholds[last];
    selection.count = compact(c, KeyOrder::kMagnitude, limits[last], selection.positions.data(),
                              selection.values.data());
    selection.passes += 2;
  }

  static void small_steps(std::span<const float> c, std::size_t k, double first,
                          Selection& selection) {
    // A negative threshold, of a tensor with a negative mean, is exceeded by everything.
    selection.count = compact(c, KeyOrder::kMagnitude, key_above(first * kSmallReach),
                              selection.positions.data(), selection.values.data());
    ++selection.passes;
    double threshold = first;
    for (int round = 1;; ++round) {
      const std::size_t z = count_at_least(selection.values.first(selection.count),
                                           KeyOrder::kMagnitude, key_above(threshold));
      if (round == kSmallRounds) break;
      if (4 * z < 3 * k) {
        threshold /= kSmallStep;
      } else if (4 * z > 5 * k) {
        threshold *= kSmallStep;
      } else {
        break;
      }
    }
    selection.threshold = threshold;
    selection.choose(cut_at(KeyOrder::kMagnitude, key_above(threshold)));
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
