// One bit an element, decoded to the mean of its sign.
#include "compressors/methods/two_means.h"

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
  throw InputError("spec '" + parameters.text() +
                   "': columns=true has means by column; expected bucket=0");
}

}  // namespace

MethodInfo two_means_method(const TwoMeansMethod& method) {
  return dense_method(
      {.name = method.name,
       .summary = "one bit an element, decoded to the mean of the non-negative or the negative",
       .source = method.source,
       .memory = "residual",
       .parameters = {flag_parameter("columns", method.columns,
                                     "means for every column of the matrix with shape[0] rows"),
                      bucket_parameter("0")},
       .quantizer = two_means,
       // The means of columns depend on the shape.
       .expected_bits = [](const Parameters& parameters) {
         return 1 + bits_per_bucket(parameters, 64);
       }});
}

}  // namespace thinpipe
