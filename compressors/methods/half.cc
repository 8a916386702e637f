// 16-bit floats, summed as the field sums them.
#include "compressors/methods/half.h"

#include "compressors/methods/dense.h"
#include "compressors/quantize/half.h"

namespace thinpipe {

MethodInfo half_method(const std::string& name, const std::string& summary, ElementType type) {
  return dense_method({
      .name = name,
      .summary = summary,
      .source = "Micikevicius et al. 2018; summed as NCCL and the hooks of PyTorch's DDP do",
      .aggregation_with = exchanged_as,
      .summation =
          [type](const Parameters& parameters) {
            return Summation{.element = type, .predivides = parameters.flag("predivide")};
          },
      .parameters = {exchange_parameter(
                         "allreduce: added in 32 bits and rounded to 16 at every hop; "
                         "allgather: every worker's own array"),
                     flag_parameter(
                         "predivide", "true",
                         "divide by the number of workers before the sum, as DDP's hooks do; "
                         "false: after it")},
      .quantizer =
          [type](const Parameters&, const TensorInfo& tensor, const CompressorSettings& settings) {
            return make_bucket_quantizer(make_half_bucket(half_format(type)),
                                         whole_tensor(tensor, settings));
          },
      .expected_bits = [](const Parameters&) { return 16.0; },
  });
}

}  // namespace thinpipe
