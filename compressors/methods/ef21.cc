// EF21: the k largest changes of an estimate that both ends hold.
#include "compressors/methods/sparse.h"
#include "compressors/select/top_k.h"

namespace thinpipe {
namespace {

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
