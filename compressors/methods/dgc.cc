// Deep Gradient Compression: sampled threshold, momentum correction, masked momentum.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "compressors/kernels/random.h"
#include "compressors/kernels/select.h"
#include "compressors/methods/selectors.h"
#include "compressors/methods/sparse.h"
#include "compressors/select/top_k.h"

namespace thinpipe {
namespace {

constexpr int kMaxLowered = 10;
constexpr double kLower = 0.8;

// These two count in tenths, so that the comparison with k is exact.
bool too_many(std::size_t count, std::size_t k) { return 10 * count > 13 * k; }
bool too_few(std::size_t count, std::size_t k) { return 10 * count < 8 * k; }

class DgcSelector : public Selector {
 public:
  DgcSelector(std::size_t elements, DgcOptions options)
      : options_(std::move(options)),
        elements_(elements),
        top_k_(elements),
        sample_(target_count(options_.sample, elements)) {}

  std::size_t max_selected() const override {
    return std::min(elements_, 13 * target_count(options_.ratio.greatest(), elements_) / 10);
  }

  void select(Signal& signal, const SelectContext& context, Selection& selection) override {
    const double ratio = options_.ratio.at(context.epoch);
    const std::size_t k = target_count(ratio, signal.size());
    if (!selection.begin(k)) return;
    double threshold = sampled_threshold(signal, ratio, context.step);
    for (int lowered = 0;; ++lowered) {
      selection.count =
          signal.compact(key_above(threshold), selection.positions.data(), selection.values.data());
      ++selection.passes;
      // A threshold of 0 cannot be lowered: all elements that are not 0 are chosen.
      if (!too_few(selection.count, k) || lowered == kMaxLowered || threshold == 0) break;
      threshold *= kLower;
    }
    if (too_many(selection.count, k)) {
      threshold =
          static_cast<double>(magnitude_of(top_k_.refine(KeyOrder::kMagnitude, k, selection)));
    }
    selection.threshold = threshold;
  }

 private:
  double sampled_threshold(const Signal& signal, double ratio, std::uint64_t step) {
    return static_cast<double>(
        magnitude_of(sampled_key(signal, KeyOrder::kMagnitude, options_.sampling, options_.seed,
                                 step, options_.sample * ratio, sample_.first(sample_.size()))));
  }

  DgcOptions options_;
  std::size_t elements_;
  TopK top_k_;
  Buffer<std::int32_t> sample_;
};

Sampling sampling_of(const std::string& name) {
  if (name == "lines") return Sampling::kLines;
  return name == "strided" ? Sampling::kStrided : Sampling::kUniform;
}

const Registration kDgc{sparse_method({
    .name = "dgc",
    .summary = "largest magnitudes by a sampled threshold, with momentum correction",
    .source = "Lin et al., Deep Gradient Compression, sections 3 and 5, alg. 1 (encode)",
    .ratio = "0.001",
    .memory = "momentum",
    .positions = "run16",
    .parameters = {share_parameter("sample", "0.01", "fraction of the elements sampled"),
                   choice_parameter("sampling", "uniform", "how elements are sampled",
                                    {"uniform", "strided", "lines"})},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_dgc_selector(tensor.elements,
                                   {.ratio = ratio_of(parameters),
                                    .sample = parameters.real("sample"),
                                    .sampling = sampling_of(parameters.choice("sampling")),
                                    .seed = settings.seed ^ hash_name(tensor.name)});
        },
})};

}  // namespace

std::unique_ptr<Selector> make_dgc_selector(std::size_t elements, const DgcOptions& options) {
  return std::make_unique<DgcSelector>(elements, options);
}

}  // namespace thinpipe
