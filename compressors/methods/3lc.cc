// 3LC: three values, five to a byte, runs of zeros folded.
#include "compressors/methods/dense.h"
#include "compressors/quantize/ternary.h"

namespace thinpipe {
namespace {

const Registration kThreeLc{dense_method({
    .name = "3lc",
    .summary = "three-valued quantisation, quartic and zero-run encoding",
    .source = "Lim et al., 3LC, section 3",
    .memory = "residual",
    .parameters = {below_maximum(real_parameter(
                       "s", "1", "sparsity multiplier; the scale is s times the greatest magnitude",
                       1, 2)),
                   flag_parameter("zre", "true", "zero-run encoding")},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          return make_ternary_quantizer(tensor.elements,
                                        {.sparsity = static_cast<float>(parameters.real("s")),
                                         .zero_run = parameters.flag("zre")});
        },
    // Without zero runs; these depend on the data.
    .expected_bits = [](const Parameters&) { return 1.6; },
})};

}  // namespace
}  // namespace thinpipe
