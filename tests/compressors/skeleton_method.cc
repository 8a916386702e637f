// A method to copy: docs/adding-a-compressor.md walks through it. It sends every element whose
// magnitude is over a fixed limit, each with its own value.
#include <limits>

#include "compressors/kernels/select.h"
#include "compressors/methods/sparse.h"

namespace thinpipe {
namespace {

// 1. The new code: the choice of the elements that are sent.
class SkeletonSelector : public Selector {
 public:
  SkeletonSelector(std::size_t elements, double limit) : elements_(elements), limit_(limit) {}

  // Never more than this for any input: it bounds the payload.
  std::size_t max_selected() const override { return elements_; }

  void select(Signal& c, const SelectContext& /*context*/, Selection& selection) override {
    selection.count =
        c.compact(key_above(limit_), selection.positions.data(), selection.values.data());
    selection.target = 0;  // a fixed limit aims at no count
    selection.threshold = limit_;
    selection.passes = 1;
  }

 private:
  std::size_t elements_;
  double limit_;
};

// 2. Its parameters. Checks, help and listings are made from this.
ParameterInfo limit_parameter() {
  return real_parameter("limit", "0.01", "magnitude above which an element is sent", 0,
                        std::numeric_limits<float>::max());
}

// 3. Its registration: memories, value and position codecs come with sparse_method().
const Registration kSkeleton{sparse_method({
    .name = "skeleton",
    .summary = "every magnitude above a fixed limit",
    .source = "Strom, 2015, the selection only",
    .ratio_name = "",  // it aims at no fraction of the elements
    .parameters = {limit_parameter()},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return std::make_unique<SkeletonSelector>(tensor.elements, parameters.real("limit"));
        },
    .density = [](const Parameters&) { return 0.01; },  // the density that listings assume
})};

}  // namespace
}  // namespace thinpipe
