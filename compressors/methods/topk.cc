// Exact top-k with error feedback, the yardstick of the sparsification papers.
#include "compressors/methods/sparse.h"
#include "compressors/select/top_k.h"

namespace thinpipe {
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

}  // namespace
}  // namespace thinpipe
