// No compression: the dense baseline, which sums element by element.
#include "compressors/dense_pipeline.h"
#include "compressors/methods/common.h"
#include "compressors/quantize/fp32.h"

namespace thinpipe {
namespace {

const Registration kNone{{
    .name = "none",
    .summary = "every element as a 32-bit float",
    .source = "the baseline of all papers",
    .aggregation = Aggregation::kAllReduce,
    .parameters = {},
    .expected_bits = [](const Parameters&) { return 32.0; },
    .make =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          DenseParts parts{.memory = make_no_memory(tensor.elements, false),
                           .quantizer = make_fp32_quantizer(),
                           .verbatim = true};
          return std::make_unique<DensePipeline>(identity_of(parameters, tensor), std::move(parts));
        },
}};

}  // namespace
}  // namespace thinpipe
