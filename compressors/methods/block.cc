// Reads the parameters of block quantisers.
#include "compressors/methods/block.h"

#include "compressors/kernels/counter_random.h"
#include "compressors/quantize/block.h"

namespace thinpipe {
namespace {

std::vector<ParameterInfo> block_parameters(const BlockMethod& method) {
  std::vector<ParameterInfo> parameters;
  if (method.elements.size() > 1) {
    std::vector<std::string> names;
    for (const auto& [name, element] : method.elements) names.push_back(name);
    parameters.push_back(
        choice_parameter("format", names.front(), "what an element is written as", names));
  }
  parameters.push_back(choice_parameter("block", method.block, "elements with one scale",
                                        {"32", "64", "128", "256", "512", "1024", "2048"}));
  parameters.push_back(choice_parameter("scale", method.scale,
                                        "how a block's scale is written; e8m0 is a power of two",
                                        {"f32", "f16", "e8m0"}));
  parameters.push_back(flag_parameter("hadamard", method.hadamard,
                                      "rotate every block: random signs, Walsh-Hadamard"));
  parameters.push_back(choice_parameter("rounding", method.rounding,
                                        "to the nearest code, or up or down at random, unbiased",
                                        {"nearest", "stochastic"}));
  return parameters;
}

BlockFormat format_of(const BlockMethod& method, const Parameters& parameters) {
  if (method.elements.size() > 1) {
    for (const auto& [name, element] : method.elements) {
      if (parameters.choice("format") == name) return block_format_of(parameters, element);
    }
  }
  return block_format_of(parameters, method.elements.front().second);
}

}  // namespace

BlockFormat block_format_of(const Parameters& parameters, BlockElement element) {
  BlockFormat format;
  format.element = element;
  const std::string& scale = parameters.choice("scale");
  format.scale = scale == "f32"   ? BlockScale::kF32
                 : scale == "f16" ? BlockScale::kF16
                                  : BlockScale::kE8M0;
  format.block = std::stoul(parameters.choice("block"));
  format.hadamard = parameters.flag("hadamard");
  format.stochastic = parameters.choice("rounding") == "stochastic";
  return format;
}

MethodInfo block_method(const BlockMethod& method) {
  return dense_method({
      .name = method.name,
      .summary = method.summary,
      .source = method.source,
      .parameters = block_parameters(method),
      .quantizer =
          [method](const Parameters& parameters, const TensorInfo& tensor,
                   const CompressorSettings& settings) {
            return make_block_quantizer(
                {.format = format_of(method, parameters),
                 .sign_seed = settings.seed ^ hash_name(tensor.name),
                 .stream = random_stream(settings.seed, settings.rank, tensor.name)});
          },
      .expected_bits =
          [method](const Parameters& parameters) {
            const BlockFormat format = format_of(method, parameters);
            return element_bits(format.element) +
                   8 * static_cast<double>(scale_bytes(format.scale)) /
                       static_cast<double>(format.block);
          },
  });
}

}  // namespace thinpipe
