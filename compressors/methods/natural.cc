// Stochastic rounding to powers of two.
#include "compressors/quantize/natural.h"
#include "compressors/methods/dense.h"

namespace thinpipe {
namespace {

const Registration kNatural{dense_method({
    .name = "natural",
    .summary = "a sign and an 8-bit exponent, rounded stochastically: unbiased",
    .source = "Horvath et al., Natural Compression for Distributed Deep Learning, 2019",
    .quantizer =
        [](const Parameters&, const TensorInfo& tensor, const CompressorSettings& settings) {
          return make_bucket_quantizer(make_natural_bucket(), whole_tensor(tensor, settings));
        },
    .expected_bits = [](const Parameters&) { return 9.0; },
})};

}  // namespace
}  // namespace thinpipe
