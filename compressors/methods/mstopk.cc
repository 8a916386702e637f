// MSTopK: approximate top-k by bisecting the threshold, made for machines that count fast.
#include "compressors/select/mstopk.h"
#include "compressors/methods/sparse.h"
#include "compressors/random.h"

namespace thinpipe {
namespace {

const Registration kMsTopK{sparse_method({
    .name = "mstopk",
    .summary = "k large magnitudes by a threshold that many rounds bisect",
    .source = "Shi et al., Towards scalable distributed training of deep learning on public cloud "
              "clusters, MLSys 2021, alg. 1",
    .parameters = {integer_parameter("rounds", "25", "rounds of bisection", 1, 50)},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_mstopk_selector(tensor.elements,
                                      {.ratio = ratio_of(parameters),
                                       .rounds = static_cast<int>(parameters.integer("rounds")),
                                       .seed = settings.seed ^ hash_name(tensor.name)});
        },
})};

}  // namespace
}  // namespace thinpipe
