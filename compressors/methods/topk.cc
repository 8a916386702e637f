// Exact top-k with error feedback, the yardstick of the sparsification papers.
#include "compressors/methods/common.h"
#include "compressors/select/top_k.h"
#include "compressors/sparse_pipeline.h"

namespace thinpipe {
namespace {

const Registration kTopK{{
    .name = "topk",
    .summary = "exactly the k largest magnitudes",
    .source = "Top-k as in SIDCo section 4 and appendix B.2; pairs of 32-bit values and positions",
    .aggregation = Aggregation::kAllGather,
    .parameters = {ratio_parameter("0.01"), memory_parameter(), decay_parameter(),
                   values_parameter("fp32"), positions_parameter("raw32")},
    .expected_bits =
        [](const Parameters& parameters) {
          return sparse_bits(parameters, parameters.real("ratio"));
        },
    .make =
        [](const Parameters& parameters, const TensorInfo& tensor, const CompressorSettings&) {
          SparseParts parts{
              .memory = make_memory(parameters, tensor.elements),
              .selector = make_top_k_selector(tensor.elements, parameters.real("ratio")),
              .values = make_value_codec(parameters.choice("values")),
              .positions = make_position_codec(parameters.choice("positions"))};
          return std::make_unique<SparsePipeline>(identity_of(parameters, tensor),
                                                  std::move(parts));
        },
}};

}  // namespace
}  // namespace thinpipe
