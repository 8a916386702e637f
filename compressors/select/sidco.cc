// SIDCo: one pass for the moments, one that compacts the elements above the threshold. Of several
// stages the second, which a quarter of the elements reach, adds up what exceeds the first
// threshold without writing it down (exponential distribution); later ones look at what was
// compacted only.
#include "compressors/select/sidco.h"

#include <algorithm>
#include <cmath>

#include "compressors/kernels/compact.h"
#include "compressors/kernels/cut.h"
#include "compressors/kernels/dispersion.h"
#include "compressors/kernels/logs.h"
#include "compressors/kernels/moments.h"
#include "compressors/select/sidco_fit.h"
#include "compressors/select/sidco_stages.h"

namespace thinpipe {
namespace {

class SidcoSelector : public Selector {
 public:
  SidcoSelector(std::size_t elements, const SidcoOptions& options)
      : options_(options),
        elements_(elements),
        adaptation_(
            {.every = options.every, .tolerance = options.tolerance, .climb = options.climb}) {}

  std::size_t max_selected() const override { return elements_; }

  void select(Signal& c, const SelectContext& context, Selection& selection) override {
    const double ratio = options_.ratio.at(context.epoch);
    const std::size_t k = target_count(ratio, c.size());
    selection.target = k;
    selection.count = 0;
    selection.passes = 0;
    selection.threshold = 0;
    if (k == 0) return;
    const int most = std::max(1, static_cast<int>(std::ceil(-std::log2(ratio))));
    const int stages = options_.fixed_stages > 0 ? options_.fixed_stages : adaptation_.stages(most);
    fit(c, ratio, ratio >= options_.first_ratio ? 1 : stages, selection);
    if (options_.fixed_stages == 0) adaptation_.note(selection.count, k, most);
  }

  void reset() override { adaptation_.reset(); }
  std::size_t state_size() const override { return SidcoStages::kStateSize; }
  void save(ByteWriter& out) const override { adaptation_.save(out); }
  void load(ByteReader& in) override { adaptation_.load(in); }

 private:
  void fit(Signal& c, double ratio, int stages, Selection& selection) const {
    double threshold = first_threshold(c, stages == 1 ? ratio : options_.first_ratio);
    selection.passes = 2;
    // Every later stage keeps the same share of the one before.
    const double share = std::pow(ratio / options_.first_ratio, 1.0 / (stages - 1));
    int stage = 2;
    if (stages > 1 && options_.distribution == SidcoDistribution::kExponential &&
        !options_.location_min) {
      const TailMoments tail = tail_moments(c.values(), key_above(threshold));
      ++selection.passes;
      // Nothing exceeds the first threshold: all stages end there.
      if (tail.count > 0) {
        const double mean = tail.sum_magnitude / static_cast<double>(tail.count);
        threshold += exponential_excess(mean - threshold, share);
        ++stage;
      }
    }
    selection.count =
        c.compact(key_above(threshold), selection.positions.data(), selection.values.data());
    for (; stage <= stages && selection.count > 0; ++stage) {
      const auto tail = selection.values.first(selection.count);
      const double location = options_.location_min ? least(tail) : threshold;
      threshold = location + tail_excess(tail, location, share);
      const Cut cut = cut_at(KeyOrder::kMagnitude, key_above(threshold));
      if (stage == stages) {
        selection.choose(cut);
        break;
      }
      selection.count =
          filter(cut, selection.count, selection.positions.data(), selection.values.data());
    }
    selection.threshold = threshold;
  }

  double first_threshold(Signal& c, double share) const {
    const auto count = static_cast<double>(c.size());
    switch (options_.distribution) {
      case SidcoDistribution::kExponential:
        return exponential_excess(c.moments().sum_magnitude / count, share);
      case SidcoDistribution::kPareto: {
        const Dispersion spread = magnitude_dispersion(c.values());
        return pareto_excess(spread.mean(), spread.variance(), share);
      }
      case SidcoDistribution::kGamma: {
        const LogMoments moments = log_moments(c.values());
        return gamma_excess(moments.sum_magnitude / count,
                            moments.sum_log / static_cast<double>(moments.nonzero), share,
                            options_.exact_gamma);
      }
    }
    return 0;
  }

  double tail_excess(std::span<const float> tail, double location, double share) const {
    if (options_.distribution == SidcoDistribution::kExponential) {
      const double mean = magnitude_moments(tail).sum_magnitude / static_cast<double>(tail.size());
      return exponential_excess(mean - location, share);
    }
    const Dispersion spread = magnitude_dispersion(tail);
    return pareto_excess(spread.mean() - location, spread.variance(), share);
  }

  static double least(std::span<const float> tail) {
    std::int32_t key = kMaxKey;
    for (float value : tail) key = std::min(key, key_of(value, KeyOrder::kMagnitude));
    return static_cast<double>(magnitude_of(key));
  }

  SidcoOptions options_;
  std::size_t elements_;
  SidcoStages adaptation_;
};

}  // namespace

std::unique_ptr<Selector> make_sidco_selector(std::size_t elements, const SidcoOptions& options) {
  return std::make_unique<SidcoSelector>(elements, options);
}

}  // namespace thinpipe
