// SIDCo with exponential tails: one pass for the mean, one that compacts the elements above the
// first threshold; later stages look at these only.
#include "compressors/select/sidco.h"

#include <cmath>

#include "compressors/kernels/compact.h"
#include "compressors/kernels/moments.h"
#include "compressors/select/sidco_stages.h"

namespace thinpipe {
namespace {

/// Drops what does not exceed the threshold.
void filter(double threshold, Selection& selection) {
  const std::int32_t limit = key_above(threshold);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < selection.count; ++i) {
    const float value = selection.values[i];
    selection.positions[kept] = selection.positions[i];
    selection.values[kept] = value;
    kept += key_of(value, KeyOrder::kMagnitude) >= limit ? 1 : 0;
  }
  selection.count = kept;
}

double mean_excess(const Selection& selection, double location) {
  double sum = 0;
  for (float value : selection.values.first(selection.count)) {
    sum += static_cast<double>(std::fabs(value));
  }
  return sum / static_cast<double>(selection.count) - location;
}

class SidcoExpSelector : public Selector {
 public:
  SidcoExpSelector(std::size_t elements, const SidcoOptions& options)
      : options_(options),
        elements_(elements),
        adaptation_(
            {.every = options.every, .tolerance = options.tolerance, .climb = options.climb}) {}

  std::size_t max_selected() const override { return elements_; }

  void select(std::span<const float> c, const SelectContext& context,
              Selection& selection) override {
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
  void fit(std::span<const float> c, double ratio, int stages, Selection& selection) const {
    const double mean = magnitude_moments(c).sum_magnitude / static_cast<double>(c.size());
    double threshold = mean * -std::log(stages == 1 ? ratio : options_.first_ratio);
    selection.count = compact(c, KeyOrder::kMagnitude, key_above(threshold),
                              selection.positions.data(), selection.values.data());
    selection.passes = 2;
    // Every later stage keeps the same share of the one before.
    const double stage_log = -std::log(ratio / options_.first_ratio) / (stages - 1);
    for (int stage = 2; stage <= stages && selection.count > 0; ++stage) {
      threshold += mean_excess(selection, threshold) * stage_log;
      filter(threshold, selection);
    }
    selection.threshold = threshold;
  }

  SidcoOptions options_;
  std::size_t elements_;
  SidcoStages adaptation_;
};

}  // namespace

std::unique_ptr<Selector> make_sidco_exp_selector(std::size_t elements,
                                                  const SidcoOptions& options) {
  return std::make_unique<SidcoExpSelector>(elements, options);
}

}  // namespace thinpipe
