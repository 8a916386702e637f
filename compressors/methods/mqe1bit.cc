// One bit an element, decoded to the mean of its sign.
#include "compressors/methods/dense.h"
#include "compressors/quantize/column_means.h"
#include "compressors/quantize/sign_bits.h"

namespace thinpipe {
namespace {

/// One bit an element and two means, of a bucket or of every column.
std::unique_ptr<Quantizer> two_means(const Parameters& parameters, const TensorInfo& tensor,
                                     const CompressorSettings& settings) {
  const BucketOptions options = bucket_of(parameters, tensor, settings);
  if (!parameters.flag("columns")) return make_bucket_quantizer(make_two_means_bucket(), options);
  if (options.bucket == 0) return make_column_means_quantizer(tensor.shape, tensor.elements);
  throw InputError("compressor spec '" + parameters.text() +
                   "': columns=true has means by column; expected bucket=0");
}

DenseMethod one_bit(const std::string& name, const std::string& source,
                    const std::string& columns) {
  return {.name = name,
          .summary = "one bit an element, decoded to the mean of the non-negative or the negative",
          .source = source,
          .memory = "residual",
          .parameters = {flag_parameter("columns", columns,
                                        "means for every column of the matrix with shape[0] rows"),
                         bucket_parameter("0")},
          .quantizer = two_means,
          // The means of columns depend on the shape.
          .expected_bits = [](const Parameters& parameters) {
            return 1 + bits_per_bucket(parameters, 64);
          }};
}

const Registration kMqe{dense_method(one_bit(
    "mqe1bit", "Lim et al., 3LC, section 5.1: MQE 1-bit int; means of the whole tensor", "false"))};

const Registration kOneBit{dense_method(one_bit(
    "onebit", "Seide et al., 1-bit SGD, 2014, section 3.3; means of every column", "true"))};

}  // namespace
}  // namespace thinpipe
