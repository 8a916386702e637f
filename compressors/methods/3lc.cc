// 3LC: three values, five to a byte, runs of zeros folded.
#include <utility>

#include "compressors/dense_pipeline.h"
#include "compressors/methods/common.h"
#include "compressors/quantize/ternary.h"

namespace thinpipe {
namespace {

std::vector<ParameterInfo> parameters_of_3lc() {
  ParameterInfo sparsity = real_parameter(
      "s", "1", "sparsity multiplier; the scale is s times the greatest magnitude", 1, 2);
  sparsity.exclusive_maximum = true;
  return join({{sparsity, flag_parameter("zre", "true", "zero-run encoding")},
               memory_parameters("residual")});
}

const Registration kThreeLc{{
    .name = "3lc",
    .summary = "three-valued quantisation, quartic and zero-run encoding",
    .source = "Lim et al., 3LC, section 3",
    .aggregation = Aggregation::kAllGather,
    .parameters = parameters_of_3lc(),
    // Without zero runs; these depend on the data.
    .expected_bits = [](const Parameters&) { return 1.6; },
    .make =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          const TernaryOptions options{.sparsity = static_cast<float>(parameters.real("s")),
                                       .zero_run = parameters.flag("zre")};
          DenseParts parts{.memory = make_memory(parameters, tensor.elements),
                           .quantizer = make_ternary_quantizer(tensor.elements, options),
                           .period = period_of(parameters)};
          return std::make_unique<DensePipeline>(identity_of(parameters, tensor), std::move(parts));
        },
}};

}  // namespace
}  // namespace thinpipe
