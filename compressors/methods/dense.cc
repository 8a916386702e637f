// Puts a quantiser and a memory together.
#include "compressors/methods/dense.h"

#include <utility>

#include "compressors/dense_pipeline.h"

namespace thinpipe {

ParameterInfo bucket_parameter(const std::string& default_value) {
  return integer_parameter("bucket", default_value,
                           "elements that share a scale; 0: the whole tensor", 0, 1 << 24);
}

BucketOptions whole_tensor(const TensorInfo& tensor, const CompressorSettings& settings) {
  return {.bucket = 0, .stream = random_stream(settings.seed, settings.rank, tensor.name)};
}

BucketOptions bucket_of(const Parameters& parameters, const TensorInfo& tensor,
                        const CompressorSettings& settings) {
  BucketOptions options = whole_tensor(tensor, settings);
  options.bucket = static_cast<std::size_t>(parameters.integer("bucket"));
  return options;
}

ParameterInfo exchange_parameter(const std::string& help) {
  return choice_parameter("exchange", "allreduce", help, {"allreduce", "allgather"});
}

Aggregation exchanged_as(const Parameters& parameters) {
  return parameters.choice("exchange") == "allreduce" ? Aggregation::kAllReduce
                                                      : Aggregation::kAllGather;
}

double bits_per_bucket(const Parameters& parameters, double bits) {
  const auto bucket = static_cast<double>(parameters.integer("bucket"));
  return bucket == 0 ? 0 : bits / bucket;
}

MethodInfo dense_method(const DenseMethod& method) {
  MethodInfo info;
  info.name = method.name;
  info.summary = method.summary;
  info.source = method.source;
  info.aggregation = method.aggregation;
  info.aggregation_with = method.aggregation_with;
  info.summation = method.summation;
  info.needs_whole = method.needs_whole;
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
