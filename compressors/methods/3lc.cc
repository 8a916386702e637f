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
                   flag_parameter("zre", "true", "zero-run encoding"), bucket_parameter("0")},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_ternary_quantizer(tensor.elements,
                                        {.sparsity = static_cast<float>(parameters.real("s")),
                                         .zero_run = parameters.flag("zre"),
                                         .bucket = bucket_of(parameters, tensor, settings).bucket});
        },
    // Without zero runs; these depend on the data.
    .expected_bits =
        [](const Parameters& parameters) { return 1.6 + bits_per_bucket(parameters, 32); },
})};

}  // namespace
}  // namespace thinpipe
