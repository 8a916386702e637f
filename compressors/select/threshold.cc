// Selections by one threshold.
#include "compressors/select/threshold.h"

#include <algorithm>
#include <utility>

#include "compressors/select/kth.h"
#include "compressors/select/sample.h"

namespace thinpipe {
namespace {

void select_above(Signal& signal, double threshold, Selection& selection) {
  selection.count =
      signal.compact(key_above(threshold), selection.positions.data(), selection.values.data());
  selection.threshold = threshold;
  selection.passes = 1;
}

class ThresholdSelector : public Selector {
 public:
  ThresholdSelector(std::size_t elements, double tau) : elements_(elements), tau_(tau) {}

  std::size_t max_selected() const override { return elements_; }
  void select(Signal& signal, const SelectContext& /*context*/, Selection& selection) override {
    selection.target = 0;
    select_above(signal, tau_, selection);
  }

 private:
  std::size_t elements_;
  double tau_;
};

class SampledThresholdSelector : public Selector {
 public:
  SampledThresholdSelector(std::size_t elements, SampledThresholdOptions options)
      : options_(std::move(options)),
        elements_(elements),
        sample_(target_count(options_.sample, elements)) {}

  std::size_t max_selected() const override { return elements_; }
  void select(Signal& signal, const SelectContext& context, Selection& selection) override {
    const double ratio = options_.ratio.at(context.epoch);
    selection.target = target_count(ratio, signal.size());
    selection.count = 0;
    selection.passes = 0;
    selection.threshold = 0;
    if (signal.size() == 0) return;
    const auto sample = sample_.first(sample_.size());
    sample_keys(signal, KeyOrder::kMagnitude, Sampling::kUniform, options_.seed, context.step,
                sample);
    const std::size_t rank =
        std::min(sample.size(), target_count(options_.sample * ratio, signal.size()));
    const std::int32_t key = kth_greatest(sample, rank);
    select_above(signal, static_cast<double>(magnitude_of(key)), selection);
  }

 private:
  SampledThresholdOptions options_;
  std::size_t elements_;
  Buffer<std::int32_t> sample_;
};

}  // namespace

std::unique_ptr<Selector> make_threshold_selector(std::size_t elements, double tau) {
  return std::make_unique<ThresholdSelector>(elements, tau);
}

std::unique_ptr<Selector> make_sampled_threshold_selector(std::size_t elements,
                                                          const SampledThresholdOptions& options) {
  return std::make_unique<SampledThresholdSelector>(elements, options);
}

}  // namespace thinpipe
