// Stochastic ternary quantisation and quartic encoding.
#include "compressors/kernels/counter_random.h"
#include "compressors/methods/dense.h"
#include "compressors/quantize/ternary.h"

namespace thinpipe {
namespace {

const Registration kStoch3{dense_method({
    .name = "stoch3",
    .summary = "three values chosen stochastically, quartic encoding: unbiased",
    .source = "Lim et al., 3LC, section 5.1: Stoch 3-value + QE",
    .quantizer =
        [](const Parameters&, const TensorInfo& tensor, const CompressorSettings& settings) {
          return make_ternary_quantizer(
              tensor.elements,
              {.sparsity = 1,
               .zero_run = false,
               .stochastic = true,
               .stream = random_stream(settings.seed, settings.rank, tensor.name)});
        },
    .expected_bits = [](const Parameters&) { return 1.6; },
})};

}  // namespace
}  // namespace thinpipe
