// The sign times the mean magnitude, with error feedback.
#include "compressors/methods/dense.h"
#include "compressors/quantize/sign_bits.h"

namespace thinpipe {
namespace {

const Registration kEfSignSgd{dense_method({
    .name = "efsignsgd",
    .summary = "one bit an element, the sign times the mean magnitude",
    .source = "Karimireddy et al., Error Feedback Fixes SignSGD, 2019, alg. 1",
    .memory = "residual",
    .parameters = {bucket_parameter("0")},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_bucket_quantizer(make_mean_magnitude_bucket(),
                                       bucket_of(parameters, tensor, settings));
        },
    .expected_bits =
        [](const Parameters& parameters) { return 1 + bits_per_bucket(parameters, 32); },
})};

}  // namespace
}  // namespace thinpipe
