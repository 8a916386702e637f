// Makes a device compressor from a spec. A method of the GPU is an entry of one of two tables: of
// selectors (sparse methods) or of quantisers (dense methods).
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/dense_device_compressor.h"
#include "compressors/cuda/device/makers.h"
#include "compressors/cuda/device_base.h"
#include "compressors/cuda/encode/device_encoding.h"
#include "compressors/cuda/quantize/blocks.h"
#include "compressors/cuda/quantize/codes.h"
#include "compressors/cuda/quantize/columns.h"
#include "compressors/cuda/quantize/demo.h"
#include "compressors/cuda/quantize/elias.h"
#include "compressors/cuda/quantize/power_sgd.h"
#include "compressors/cuda/quantize/ternary.h"
#include "compressors/cuda/select/one_pass.h"
#include "compressors/cuda/select/sampled.h"
#include "compressors/cuda/select/searched.h"
#include "compressors/cuda/select/sidco.h"
#include "compressors/cuda/sparse_device_compressor.h"
#include "compressors/methods/common.h"
#include "compressors/methods/quantizers.h"
#include "compressors/registry.h"
#include "compressors/spec.h"

namespace thinpipe::cuda {

template <class Device>
std::unique_ptr<DeviceSelector<Device>> make_gradient_dropping(const MakerInput& input) {
  if (input.parameters.real("sample") == 0) return std::make_unique<TopKSelector<Device>>(input);
  return std::make_unique<SampledThresholdSelector<Device>>(input);
}

/// Returns the makers of all sparse methods.
template <class Device>
const Makers<DeviceSelector<Device>>& selector_makers() {
  using Part = DeviceSelector<Device>;
  static const Makers<Part> makers = {
      {"topk", make_from<Part, TopKSelector<Device>>},
      {"ef21", make_from<Part, TopKSelector<Device>>},
      {"gradientdropping", make_gradient_dropping<Device>},
      {"dgc", make_from<Part, DgcSelector<Device>>},
      {"gaussiank", make_from<Part, GaussianKSelector<Device>>},
      {"hybrid", make_from<Part, VarianceSelector<Device, true>>},
      {"mstopk", make_from<Part, MsTopKSelector<Device>>},
      {"randomk", make_from<Part, RandomKSelector<Device>>},
      {"redsync", make_from<Part, RedSyncSelector<Device>>},
      {"sbc", make_from<Part, SbcSelector<Device>>},
      {"sidco", make_from<Part, SidcoSelector<Device>>},
      {"sparseloco", make_from<Part, ChunkedSelector<Device>>},
      {"strom", make_from<Part, ThresholdSelector<Device, Stepping>>},
      {"threshold", make_from<Part, ThresholdSelector<Device>>},
      {"variance", make_from<Part, VarianceSelector<Device, false>>}};
  return makers;
}

inline constexpr const char* kBadScale =
    "a scale in the payload is not a finite number of at least 0";
inline constexpr const char* kBadFloat = "a value in the payload is not finite";

/// @param code  of one element (kernels/codes.h)
/// @param shares  whether workers may share the scale
template <class Device, class Code>
std::unique_ptr<DeviceQuantizer<Device>> make_codes(const MakerInput& input, Code code,
                                                    const char* problem = kBadScale,
                                                    bool shares = false) {
  return std::make_unique<CodeQuantizer<Device, Code>>(code, input.bucket(), problem,
                                                       input.streams(), shares);
}

template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_means(const MakerInput& input) {
  if (input.parameters.flag("columns")) return std::make_unique<ColumnQuantizer<Device>>(input);
  return make_codes<Device>(input, SignCode<SignScale::kMeans>{},
                            "a mean in the payload is not finite");
}

template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_qsgd(const MakerInput& input) {
  LevelCode<NormRange> code;
  code.bits = static_cast<int>(input.parameters.integer("bits"));
  if (input.parameters.choice("coding") == "elias")
    return std::make_unique<EliasQuantizer<Device>>(input, code);
  return make_codes<Device>(input, code);
}

template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_terngrad(const MakerInput& input) {
  constexpr int kBits = 2;
  const bool shares = input.parameters.flag("shared");
  if (input.bucket() != 0 && shares)
    refuse(input.parameters, "workers cannot share the scales of buckets; expected shared=false");
  if (const double sigmas = input.parameters.real("sigma"); sigmas != 0) {
    LevelCode<ClippedRange> code;
    code.sigmas = sigmas;
    code.bits = kBits;
    return make_codes<Device>(input, code, kBadScale, shares);
  }
  LevelCode<GreatestRange> code;
  code.bits = kBits;
  return make_codes<Device>(input, code, kBadScale, shares);
}

template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_thc(const MakerInput& input) {
  const BlockFormat format = thc_format(static_cast<int>(input.parameters.integer("bits")),
                                        input.parameters.count("block"));
  return make_block_quantizer<Device>(input, format,
                                      static_cast<float>(input.parameters.real("range")));
}

/// Returns the makers of all dense methods.
template <class Device>
const Makers<DeviceQuantizer<Device>>& quantizer_makers() {
  using Part = DeviceQuantizer<Device>;
  using Made = std::unique_ptr<Part>;
  const auto words = []<class Code>(Code code, const char* problem) {
    return [code, problem](const MakerInput& input) -> Made {
      return std::make_unique<WordQuantizer<Device, Code>>(code, problem, input.streams());
    };
  };
  const auto blocks = [](BlockElement element) {
    return [element](const MakerInput& input) {
      return make_block_quantizer<Device>(input, block_format_of(input.parameters, element));
    };
  };
  const auto float8 = [blocks](const MakerInput& input) {
    const bool e4m3 = input.parameters.choice("format") == "e4m3";
    return blocks(e4m3 ? BlockElement::kE4M3 : BlockElement::kE5M2)(input);
  };
  const auto signs = [](const MakerInput& input) {
    const GivenSignCode code{static_cast<float>(input.parameters.real("scale"))};
    return make_codes<Device>(input, code, "");
  };
  const auto mean_magnitude = [](const MakerInput& input) {
    return make_codes<Device>(input, SignCode<SignScale::kMagnitude>{});
  };
  const auto ternary = [](const MakerInput& input) -> Made {
    const TernaryOptions options{.sparsity = static_cast<float>(input.parameters.real("s")),
                                 .zero_run = input.parameters.flag("zre")};
    return std::make_unique<TernaryQuantizer<Device>>(input, options);
  };
  const auto stochastic_ternary = [](const MakerInput& input) -> Made {
    const TernaryOptions options{.sparsity = 1, .zero_run = false, .stochastic = true};
    return std::make_unique<TernaryQuantizer<Device>>(input, options);
  };
  static const Makers<Part> makers = {
      {"none", words(Fp32Code{}, "")},
      {"fedavg", words(Fp32Code{}, "")},
      {"fp16", words(HalfCode{HalfFormat::kFp16}, kBadFloat)},
      {"bf16", words(HalfCode{HalfFormat::kBf16}, kBadFloat)},
      {"natural", words(NaturalCode{},
                        "an exponent in the payload is 255, or bits after the last "
                        "sign are not zero")},
      {"int8", [](const MakerInput& input) { return make_codes<Device>(input, Int8Code{}); }},
      {"signsgd", signs},
      {"efsignsgd", mean_magnitude},
      {"mqe1bit", make_means<Device>},
      {"onebit", make_means<Device>},
      {"qsgd", make_qsgd<Device>},
      {"terngrad", make_terngrad<Device>},
      {"3lc", ternary},
      {"stoch3", stochastic_ternary},
      {"powersgd", make_from<Part, PowerSgdQuantizer<Device>>},
      {"demo", make_from<Part, DemoQuantizer<Device>>},
      {"thc", make_thc<Device>},
      {"fp8", float8},
      {"mxfp4", blocks(BlockElement::kE2M1)},
      {"blockint8", blocks(BlockElement::kInt8)},
      {"blockint4", blocks(BlockElement::kInt4)},
      {"qgz", blocks(BlockElement::kInt4)},
      {"sdp4bit", blocks(BlockElement::kInt4)}};
  return makers;
}

inline DeviceMemoryOptions memory_of(const std::string& name, const Parameters& parameters) {
  using Kind = DeviceMemoryOptions::Kind;
  if (name == "none") return {.kind = Kind::kNone};  // the method has no parameters
  const std::string& memory = parameters.choice("memory");
  const Kind kind = memory == "none"       ? Kind::kNone
                    : memory == "momentum" ? Kind::kMomentum
                    : memory == "ef21"     ? Kind::kEf21
                                           : Kind::kResidual;
  const bool decays = kind == Kind::kResidual;
  const auto workers = static_cast<int>(parameters.integer("workers"));
  return {.kind = kind,
          .decay = decays ? static_cast<float>(parameters.real("decay")) : 1,
          .clears = memory == "clear",
          .momentum = static_cast<float>(parameters.real("momentum")),
          .nesterov = parameters.flag("nesterov"),
          .masking = parameters.flag("masking"),
          .limit = parameters.real("clip") / std::sqrt(workers),
          .period = period_of(parameters)};
}

/// Returns the names of all methods with a GPU implementation: "3lc, bf16, ... or variance".
template <class Device>
std::string methods_on_gpu() {
  std::vector<std::string> names;
  for (const auto& [name, maker] : quantizer_makers<Device>()) names.push_back(name);
  for (const auto& [name, maker] : selector_makers<Device>()) names.push_back(name);
  std::sort(names.begin(), names.end());
  std::string text = names.front();
  for (std::size_t i = 1; i < names.size(); ++i)
    text += (i + 1 < names.size() ? ", " : " or ") + names[i];
  return text;
}

/// @throws InputError as make_compressor(), and for methods and parameters without a GPU
/// implementation
template <class Device>
std::unique_ptr<DeviceCompressor> make_device_compressor(std::shared_ptr<Device> device,
                                                         const Spec& spec,
                                                         std::span<const TensorInfo> tensors,
                                                         const CompressorSettings& settings) {
  const Parameters parameters(find_method(spec.name).parameters, spec);
  // The CPU implementation refuses parameters that contradict each other.
  find_method(spec.name).make(parameters, {.name = "", .shape = {0}, .elements = 0}, settings);
  const MakerInput input{spec.name, parameters, tensors, settings};
  std::vector<StateIdentity> identities;
  for (const TensorInfo& tensor : tensors) {
    input.check_count(tensor, tensor.elements, "elements");
    identities.push_back(identity_of(parameters, tensor));
  }
  if (auto quantizer = make_part(quantizer_makers<Device>(), input)) {
    return make_dense_device_compressor<Device>(std::move(device), std::move(identities),
                                                memory_of(spec.name, parameters),
                                                std::move(quantizer));
  }
  if (auto selector = make_part(selector_makers<Device>(), input)) {
    DeviceEncoding<Device> encoding = make_encoding<Device>(
        parameters, tensors,
        [&selector](std::size_t elements) { return selector->max_selected(elements); });
    return std::make_unique<SparseDeviceCompressor<Device>>(
        std::move(device), std::move(identities), memory_of(spec.name, parameters),
        std::move(selector), std::move(encoding));
  }
  refuse(parameters, "the method has no GPU implementation; expected " + methods_on_gpu<Device>());
}

/// Returns make_device_compressor() on a device.
template <class Device>
MakeDeviceCompressor maker_on(const std::shared_ptr<Device>& device) {
  return [device](const Spec& spec, std::span<const TensorInfo> tensors,
                  const CompressorSettings& settings) {
    return make_device_compressor(device, spec, tensors, settings);
  };
}

}  // namespace thinpipe::cuda
