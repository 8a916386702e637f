// TernGrad: ternary values of two bits, unbiased but for its clipping.
#include "compressors/quantize/terngrad.h"
#include "compressors/methods/dense.h"

namespace thinpipe {
namespace {

const Registration kTernGrad{dense_method({
    .name = "terngrad",
    .summary = "three values chosen stochastically, two bits each, scaled alike on all workers",
    .source = "Wen et al., TernGrad, 2017, sections 3.1 and 4",
    .parameters = {real_parameter("sigma", "2.5",
                                  "clip magnitudes at so many standard deviations; 0: not", 0, 1e6),
                   flag_parameter("shared", "true", "all workers use the greatest scale of any"),
                   bucket_parameter("0")},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          const TernGradOptions options{.sigmas = parameters.real("sigma"),
                                        .shares_scale = parameters.flag("shared")};
          const BucketOptions bucket = bucket_of(parameters, tensor, settings);
          if (bucket.bucket != 0 && options.shares_scale) {
            throw InputError("spec '" + parameters.text() +
                             "': scales of buckets are not shared; expected shared=false");
          }
          return make_bucket_quantizer(make_terngrad_bucket(options), bucket);
        },
    .expected_bits =
        [](const Parameters& parameters) { return 2 + bits_per_bucket(parameters, 32); },
})};

}  // namespace
}  // namespace thinpipe
