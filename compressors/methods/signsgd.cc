// The sign alone. The sum of all workers' signs has the sign of the majority.
#include "compressors/methods/dense.h"
#include "compressors/quantize/sign_bits.h"

namespace thinpipe {
namespace {

const Registration kSignSgd{dense_method({
    .name = "signsgd",
    .summary = "one bit an element; the sign of the aggregate is the majority vote",
    .source = "Bernstein et al., signSGD, 2018, alg. 2; the trainer takes the aggregate's sign",
    .parameters = {real_parameter("scale", "1", "magnitude that every element decodes to", 1e-30,
                                  1e30)},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          return make_bucket_quantizer(
              make_sign_bucket(static_cast<float>(parameters.real("scale"))),
              whole_tensor(tensor, settings));
        },
    .expected_bits = [](const Parameters&) { return 1.0; },
})};

}  // namespace
}  // namespace thinpipe
