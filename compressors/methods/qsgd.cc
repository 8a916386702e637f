// QSGD: stochastic levels of the L2 norm of a bucket.
#include <algorithm>

#include "compressors/methods/dense.h"
#include "compressors/quantize/qsgd.h"

namespace thinpipe {
namespace {

const Registration kQsgd{dense_method({
    .name = "qsgd",
    .summary = "levels of a bucket's L2 norm, rounded stochastically: unbiased",
    .source = "Alistarh et al., QSGD, 2017, section 3.1 and appendix A.2",
    .parameters = {integer_parameter("bits", "4", "of a code: a sign and a level", 2, 8),
                   bucket_parameter("512"),
                   choice_parameter("coding", "fixed", "codes of equal length, or Elias codes",
                                    {"fixed", "elias"})},
    .quantizer =
        [](const Parameters& parameters, const TensorInfo& tensor,
           const CompressorSettings& settings) {
          const auto bits = static_cast<int>(parameters.integer("bits"));
          const BucketOptions options = bucket_of(parameters, tensor, settings);
          if (parameters.choice("coding") == "fixed") {
            return make_bucket_quantizer(make_qsgd_bucket(bits), options);
          }
          const std::size_t largest =
              options.bucket == 0 ? tensor.elements : std::min(options.bucket, tensor.elements);
          return make_bucket_quantizer(make_qsgd_elias_bucket(bits, largest), options);
        },
    // Elias codes are shorter; how much depends on the data.
    .expected_bits =
        [](const Parameters& parameters) {
          return static_cast<double>(parameters.integer("bits")) + bits_per_bucket(parameters, 32);
        },
})};

}  // namespace
}  // namespace thinpipe
