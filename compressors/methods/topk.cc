// Exact top-k with error feedback, the yardstick of the sparsification papers; and EF21 around it.
#include <memory>
#include <utility>

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

}  // namespace

std::unique_ptr<Selector> make_top_k_selector(std::size_t elements, const RatioSchedule& ratio) {
  return std::make_unique<TopKSelector>(elements, ratio);
}

namespace {

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

}  // namespace
}  // namespace thinpipe
