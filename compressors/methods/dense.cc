// Puts a quantiser and a memory together.
#include "compressors/methods/dense.h"

#include <utility>

#include "compressors/dense_pipeline.h"

namespace thinpipe {

MethodInfo dense_method(const DenseMethod& method) {
  MethodInfo info;
  info.name = method.name;
  info.summary = method.summary;
  info.source = method.source;
  info.aggregation = method.aggregation;
  info.parameters =
      join({method.parameters, memory_parameters(method.memory, method.delay, method.decay)});
  // A delay of n steps sends one payload for n gradients.
  info.expected_bits = [bits = method.expected_bits](const Parameters& parameters) {
    return bits(parameters) / static_cast<double>(period_of(parameters));
  };
  info.make = [make_quantizer = method.quantizer](const Parameters& parameters,
                                                  const TensorInfo& tensor,
                                                  const CompressorSettings& settings) {
    DenseParts parts{.memory = make_memory(parameters, tensor.elements),
                     .quantizer = make_quantizer(parameters, tensor, settings),
                     .period = period_of(parameters),
                     .threads = settings.threads,
                     .incremental = parameters.choice("memory") == "ef21"};
    return std::make_unique<DensePipeline>(identity_of(parameters, tensor), std::move(parts));
  };
  return info;
}

}  // namespace thinpipe
