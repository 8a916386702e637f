// 8-bit integers scaled by the greatest magnitude.
#include "compressors/quantize/int8.h"
#include "compressors/methods/dense.h"

namespace thinpipe {
namespace {

const Registration kInt8{dense_method({
    .name = "int8",
    .summary = "255 equal levels up to the greatest magnitude",
    .source = "Lim et al., 3LC, section 5.1: 8-bit int",
    .parameters = {bucket_parameter("0")},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_bucket_quantizer(make_int8_bucket(), bucket_of(parameters, tensor, settings));
        },
    .expected_bits =
        [](const Parameters& parameters) { return 8 + bits_per_bucket(parameters, 32); },
})};

}  // namespace
}  // namespace thinpipe
