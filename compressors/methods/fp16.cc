// Every element as a 16-bit float: IEEE 754 binary16.
#include "compressors/methods/dense.h"
#include "compressors/quantize/half.h"

namespace thinpipe {
namespace {

const Registration kFp16{dense_method({
    .name = "fp16",
    .summary = "every element as a 16-bit float, IEEE 754 binary16",
    .source = "mixed-precision training (Micikevicius et al., 2018)",
    .quantizer =
        [](const Parameters&, const TensorInfo& tensor, const CompressorSettings& settings) {
          return make_bucket_quantizer(make_half_bucket(HalfFormat::kFp16),
                                       whole_tensor(tensor, settings));
        },
    .expected_bits = [](const Parameters&) { return 16.0; },
})};

}  // namespace
}  // namespace thinpipe
