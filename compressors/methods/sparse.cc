// Puts a selector, a memory and the codecs together.
#include "compressors/methods/sparse.h"

#include <utility>

#include "compressors/sparse_pipeline.h"

namespace thinpipe {

MethodInfo sparse_method(const SparseMethod& method) {
  MethodInfo info;
  info.name = method.name;
  info.summary = method.summary;
  info.source = method.source;
  info.aggregation = Aggregation::kAllGather;
  const bool has_ratio = !method.ratio_name.empty();
  info.parameters = join(
      {has_ratio ? ratio_parameters(method.ratio, method.ratio_name) : std::vector<ParameterInfo>{},
       method.parameters, memory_parameters(method.memory),
       encoding_parameters(method.values, method.positions)});
  info.expected_bits = [has_ratio, ratio_name = method.ratio_name,
                        density = method.density](const Parameters& parameters) {
    return sparse_bits(parameters, has_ratio ? parameters.real(ratio_name) : density(parameters));
  };
  info.make = [make_selector = method.selector](const Parameters& parameters,
                                                const TensorInfo& tensor,
                                                const CompressorSettings& settings) {
    SparseParts parts{.memory = make_memory(parameters, tensor.elements),
                      .selector = make_selector(parameters, tensor, settings),
                      .values = make_value_codec(parameters.choice("values")),
                      .positions = make_position_codec(parameters.choice("positions")),
                      .period = period_of(parameters)};
    return std::make_unique<SparsePipeline>(identity_of(parameters, tensor), std::move(parts));
  };
  return info;
}

}  // namespace thinpipe
