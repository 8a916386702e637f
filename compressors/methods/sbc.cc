// Sparse Binary Compression sends the positions of either the largest or the smallest elements, and
// one value for all of them. Both selections are made, exactly or by sampled thresholds, and the
// one with the greater mean magnitude is kept.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "compressors/kernels/random.h"
#include "compressors/kernels/select.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/selectors.h"
#include "compressors/methods/sparse.h"
#include "compressors/select/top_k.h"

namespace thinpipe {
namespace {

double mean(const Selection& selection) {
  if (selection.count == 0) return 0;
  const auto values = selection.values.first(selection.count);
  const double total =
      sum_of_values(values.size(), [&](std::size_t i) { return static_cast<double>(values[i]); });
  return total / static_cast<double>(selection.count);
}

class SbcSelector : public Selector {
 public:
  SbcSelector(std::size_t elements, SbcOptions options)
      : options_(std::move(options)),
        elements_(elements),
        top_k_(elements),
        sample_(options_.sample == 0 ? 0 : target_count(options_.sample, elements)) {
    smallest_.positions = Buffer<std::uint32_t>(elements + kCompactSlack);
    smallest_.values = Buffer<float>(elements + kCompactSlack);
  }

  std::size_t max_selected() const override {
    return options_.sample == 0 ? target_count(options_.ratio.greatest(), elements_) : elements_;
  }

  void select(Signal& signal, const SelectContext& context, Selection& selection) override {
    const auto c = signal.values();
    const double ratio = options_.ratio.at(context.epoch);
    const std::size_t k = target_count(ratio, c.size());
    selection.target = k;
    selection.may_leave_cut = false;  // the values are read below
    if (sample_.size() == 0) {
      top_k_.select(c, KeyOrder::kLargest, k, selection);
      top_k_.select(c, KeyOrder::kSmallest, k, smallest_);
    } else {
      select_sampled(c, KeyOrder::kLargest, ratio, context.step, selection);
      select_sampled(c, KeyOrder::kSmallest, ratio, context.step, smallest_);
    }
    selection.passes += smallest_.passes;
    // A NaN on either side keeps the largest.
    if (-mean(smallest_) > mean(selection)) {
      std::swap(selection.positions, smallest_.positions);
      std::swap(selection.values, smallest_.values);
      std::swap(selection.count, smallest_.count);
    }
    double least = selection.count == 0 ? 0 : std::numeric_limits<double>::infinity();
    for (float value : selection.values.first(selection.count)) {
      least = std::min(least, static_cast<double>(std::fabs(value)));
    }
    selection.threshold = least;
  }

 private:
  void select_sampled(std::span<const float> c, KeyOrder order, double ratio, std::uint64_t step,
                      Selection& selection) {
    const std::int32_t key = sampled_key(c, order, Sampling::kUniform, options_.seed, step,
                                         options_.sample * ratio, sample_.first(sample_.size()));
    const std::int32_t limit = key == kMaxKey ? kMaxKey : key + 1;
    selection.count = compact(c, order, limit, selection.positions.data(), selection.values.data());
    selection.passes = 1;
  }

  SbcOptions options_;
  std::size_t elements_;
  TopK top_k_;
  Buffer<std::int32_t> sample_;
  Selection smallest_;
};

const Registration kSbc{sparse_method({
    .name = "sbc",
    .summary = "positions of the largest or smallest elements and their mean",
    .source = "Sattler et al., Sparse Binary Compression, alg. 2, eq. 5; p=0.001 is SBC(1), "
              "p=0.01,delay=10 SBC(2), p=0.01,delay=100 SBC(3)",
    .ratio_name = "p",
    .ratio = "0.001",
    .values = "mean",
    .positions = "golomb",
    .parameters = {real_parameter(
        "sample", "0", "fraction of the elements sampled for the selection; 0: exact", 0, 1)},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_sbc_selector(tensor.elements,
                                   {.ratio = ratio_of(parameters, "p"),
                                    .sample = parameters.real("sample"),
                                    .seed = settings.seed ^ hash_name(tensor.name)});
        },
})};

}  // namespace

std::unique_ptr<Selector> make_sbc_selector(std::size_t elements, const SbcOptions& options) {
  return std::make_unique<SbcSelector>(elements, options);
}

}  // namespace thinpipe
