// Exact top-k with error feedback, the yardstick of the sparsification papers; EF21 around it; and
// selection by one threshold on the magnitudes: a fixed one, or gradient dropping's, exact or from
// a sample.
#include <limits>
#include <memory>
#include <utility>

#include "compressors/kernels/random.h"
#include "compressors/methods/selectors.h"
#include "compressors/methods/sparse.h"
#include "compressors/select/selector.h"
#include "compressors/select/top_k.h"

namespace thinpipe {
namespace {

class TopKSelector : public Selector {
 public:
  TopKSelector(std::size_t elements, RatioSchedule ratio)
      : ratio_(std::move(ratio)), elements_(elements), top_k_(elements) {}

  std::size_t max_selected() const override { return target_count(ratio_.greatest(), elements_); }
  void select(Signal& signal, const SelectContext& context, Selection& selection) override {
    selection.target = target_count(ratio_.at(context.epoch), signal.size());
    const std::int32_t key = top_k_.select(signal, selection.target, selection);
    selection.threshold = signal.size() == 0 ? 0.0 : static_cast<double>(magnitude_of(key));
  }

 private:
  RatioSchedule ratio_;
  std::size_t elements_;
  TopK top_k_;
};

const Registration kTopK{sparse_method({
    .name = "topk",
    .summary = "exactly the k largest magnitudes",
    .source = "Top-k as in SIDCo section 4 and appendix B.2: 32-bit values and positions",
    .ratio = "0.01",
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_top_k_selector(tensor.elements, ratio_of(parameters));
        },
})};

// EF21: the k largest changes of an estimate that both ends hold.
const Registration kEf21{sparse_method({
    .name = "ef21",
    .summary = "the k largest changes of an estimate that both ends hold (topk:memory=ef21)",
    .source = "Richtarik, Sokolov and Fatkhullin, EF21, alg. 2, arXiv 2106.05203",
    .ratio = "0.01",
    .memory = "ef21",
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_top_k_selector(tensor.elements, ratio_of(parameters));
        },
})};

// Thresholds.

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
    if (!selection.begin(target_count(ratio, signal.size()))) return;
    const std::int32_t key =
        sampled_key(signal, KeyOrder::kMagnitude, Sampling::kUniform, options_.seed, context.step,
                    options_.sample * ratio, sample_.first(sample_.size()));
    select_above(signal, static_cast<double>(magnitude_of(key)), selection);
  }

 private:
  SampledThresholdOptions options_;
  std::size_t elements_;
  Buffer<std::int32_t> sample_;
};

const Registration kThreshold{sparse_method({
    .name = "threshold",
    .summary = "every magnitude above a fixed threshold",
    .source = "Dutta et al., AAAI 2020, and Sahu et al., NeurIPS 2021 (hard threshold)",
    .ratio_name = "",
    .parameters = {real_parameter("tau", "0.01", "magnitude that must be exceeded", 0,
                                  std::numeric_limits<float>::max())},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_threshold_selector(tensor.elements, parameters.real("tau"));
        },
    // Density assumed in listings. The real density depends on the gradient alone.
    .density = [](const Parameters&) { return 0.01; },
})};

// Gradient dropping: one threshold on the magnitudes; dropped elements are added to the next
// gradient.
const Registration kGradientDropping{sparse_method({
    .name = "gradientdropping",
    .summary = "largest magnitudes by one threshold, exact or from a sample",
    .source = "Aji and Heafield, EMNLP 2017, alg. 1; section 3 samples 0.1 % (sample=0.001)",
    .ratio = "0.01",
    .parameters = {real_parameter(
        "sample", "0", "fraction of the elements sampled for the threshold; 0: exact", 0, 1)},
    .selector = [](const Parameters& parameters, const TensorInfo& tensor,
                   const CompressorSettings& settings) -> std::unique_ptr<Selector> {
      const double sample = parameters.real("sample");
      if (sample == 0) return make_top_k_selector(tensor.elements, ratio_of(parameters));
      return make_sampled_threshold_selector(tensor.elements,
                                             {.ratio = ratio_of(parameters),
                                              .sample = sample,
                                              .seed = settings.seed ^ hash_name(tensor.name)});
    },
})};

}  // namespace

std::unique_ptr<Selector> make_top_k_selector(std::size_t elements, const RatioSchedule& ratio) {
  return std::make_unique<TopKSelector>(elements, ratio);
}

std::unique_ptr<Selector> make_threshold_selector(std::size_t elements, double tau) {
  return std::make_unique<ThresholdSelector>(elements, tau);
}

std::unique_ptr<Selector> make_sampled_threshold_selector(std::size_t elements,
                                                          const SampledThresholdOptions& options) {
  return std::make_unique<SampledThresholdSelector>(elements, options);
}

}  // namespace thinpipe
