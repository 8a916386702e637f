// GaussianK: the threshold of a normal distribution.
#include "compressors/select/gaussiank.h"
#include "compressors/methods/sparse.h"

namespace thinpipe {
namespace {

const Registration kGaussianK{sparse_method({
    .name = "gaussiank",
    .summary = "magnitudes above a threshold from a fitted normal distribution",
    .source = "Shi et al., Understanding top-k sparsification, 2019, alg. 1; variant=oktopk: Li "
              "and Hoefler, PPoPP 2022",
    .parameters = {choice_parameter("variant", "paper", "how the threshold is corrected",
                                    {"paper", "oktopk"})},
    .selector =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_gaussiank_selector(
              tensor.elements,
              {.ratio = ratio_of(parameters), .oktopk = parameters.choice("variant") == "oktopk"});
        },
})};

}  // namespace
}  // namespace thinpipe
