// Puts a selector, a memory and the codecs together.
#include "compressors/methods/sparse.h"

#include <algorithm>
#include <utility>

#include "compressors/sparse_pipeline.h"

namespace thinpipe {
namespace {

bool listed(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Selector and codecs as the parameters say.
OwnParts make_parts(const SparseMethod& method, const Parameters& parameters,
                    const TensorInfo& tensor, const CompressorSettings& settings) {
  OwnParts parts;
  if (method.own) {
    parts = method.own(parameters, tensor, settings);
  } else {
    parts.selector = method.selector(parameters, tensor, settings);
  }
  const std::string& values = parameters.choice("values");
  const std::string& positions = parameters.choice("positions");
  if (listed(value_codec_names(), values)) parts.values = make_value_codec(values);
  if (listed(position_codec_names(), positions)) parts.positions = make_position_codec(positions);
  return parts;
}

}  // namespace

MethodInfo sparse_method(const SparseMethod& method) {
  MethodInfo info;
  info.name = method.name;
  info.summary = method.summary;
  info.source = method.source;
  info.aggregation = Aggregation::kAllGather;
  info.needs_squares = method.needs_squares;
  info.has_pairs = true;
  info.has_target = !method.ratio_name.empty() || method.counted;
  const bool has_ratio = !method.ratio_name.empty();
  info.parameters = join(
      {has_ratio ? ratio_parameters(method.ratio, method.ratio_name) : std::vector<ParameterInfo>{},
       method.parameters, memory_parameters(method.memory, method.delay, method.decay),
       encoding_parameters(method.values, method.positions)});
  info.expected_bits = [method, has_ratio](const Parameters& parameters) {
    const double density =
        has_ratio ? parameters.real(method.ratio_name) : method.density(parameters);
    // The codecs of a large tensor; nothing is allocated for its elements here.
    const OwnParts parts = make_parts(method, parameters, {}, {});
    return density * (parts.positions->expected_bits(density) + parts.values->expected_bits()) /
           static_cast<double>(period_of(parameters));
  };
  info.make = [method](const Parameters& parameters, const TensorInfo& tensor,
                       const CompressorSettings& settings) {
    OwnParts own = make_parts(method, parameters, tensor, settings);
    SparseParts parts{.memory = make_memory(parameters, tensor.elements),
                      .selector = std::move(own.selector),
                      .values = std::move(own.values),
                      .positions = std::move(own.positions),
                      .period = period_of(parameters),
                      .threads = settings.threads,
                      .incremental = parameters.choice("memory") == "ef21"};
    return std::make_unique<SparsePipeline>(identity_of(parameters, tensor), std::move(parts));
  };
  return info;
}

}  // namespace thinpipe
