// Makes a device quantiser from a spec.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/device/refuse.h"
#include "compressors/cuda/quantize/blocks.h"
#include "compressors/cuda/quantize/codes.h"
#include "compressors/cuda/quantize/columns.h"
#include "compressors/cuda/quantize/demo.h"
#include "compressors/cuda/quantize/elias.h"
#include "compressors/cuda/quantize/power_sgd.h"
#include "compressors/cuda/quantize/ternary.h"
#include "compressors/cuda/quantize/words.h"
#include "compressors/methods/common.h"
#include "compressors/methods/quantizers.h"

namespace thinpipe::cuda {

/// Returns random_stream() of each tensor.
inline std::vector<std::uint64_t> streams_of(std::span<const TensorInfo> tensors,
                                             const CompressorSettings& settings) {
  std::vector<std::uint64_t> streams;
  for (const TensorInfo& tensor : tensors)
    streams.push_back(random_stream(settings.seed, settings.rank, tensor.name));
  return streams;
}

/// Returns the element type of a block method.
inline BlockElement block_element_of(const std::string& name, const Parameters& parameters) {
  if (name == "mxfp4") return BlockElement::kE2M1;
  if (name == "blockint8") return BlockElement::kInt8;
  if (name != "fp8") return BlockElement::kInt4;
  return parameters.choice("format") == "e4m3" ? BlockElement::kE4M3 : BlockElement::kE5M2;
}

inline std::uint32_t bucket_of(const Parameters& parameters) {
  return static_cast<std::uint32_t>(parameters.integer("bucket"));
}

/// Returns null for methods that do not send codes (kernels/codes.h).
template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_code_quantizer(const std::string& name,
                                                             const Parameters& parameters,
                                                             std::span<const TensorInfo> tensors,
                                                             const CompressorSettings& settings) {
  const auto make = [&](auto code, std::uint32_t bucket, const std::string& problem,
                        bool shares = false) -> std::unique_ptr<DeviceQuantizer<Device>> {
    return std::make_unique<CodeQuantizer<Device, decltype(code)>>(
        code, bucket, problem, streams_of(tensors, settings), shares);
  };
  const std::string scale = "a scale in the payload is not a finite number of at least 0";
  if (name == "signsgd") {
    return make(GivenSignCode{static_cast<float>(parameters.real("scale"))}, 0, "");
  }
  if (name == "int8") return make(Int8Code{}, bucket_of(parameters), scale);
  if (name == "efsignsgd")
    return make(SignCode<SignScale::kMagnitude>{}, bucket_of(parameters), scale);
  if (name == "mqe1bit" || name == "onebit") {
    if (parameters.flag("columns")) {
      std::vector<std::size_t> columns;
      for (const TensorInfo& tensor : tensors)
        columns.push_back(columns_of(tensor.shape, tensor.elements));
      return std::make_unique<ColumnQuantizer<Device>>(std::move(columns));
    }
    return make(SignCode<SignScale::kMeans>{}, bucket_of(parameters),
                "a mean in the payload is not finite");
  }
  if (name == "qsgd") {
    LevelCode<NormRange> code;
    code.bits = static_cast<int>(parameters.integer("bits"));
    if (parameters.choice("coding") == "elias") {
      auto elias = std::make_unique<EliasQuantizer<Device>>(code, bucket_of(parameters),
                                                            streams_of(tensors, settings));
      for (std::size_t i = 0; i < tensors.size(); ++i) {
        // Bytes, like elements, are counted in 31 bits (kernels/prefix.h).
        constexpr std::size_t kMax = 0x7fffffff;
        const std::size_t most = elias->max_encoded_size(i, tensors[i].elements);
        if (most <= kMax) continue;
        refuse(parameters, "tensor '" + tensors[i].name + "': payloads of up to " +
                               std::to_string(most) + " bytes; at most " + std::to_string(kMax) +
                               " fit");
      }
      return elias;
    }
    return make(code, bucket_of(parameters), scale);
  }
  if (name == "terngrad") {
    constexpr int kBits = 2;
    const std::uint32_t bucket = bucket_of(parameters);
    const bool shares = parameters.flag("shared");
    if (bucket != 0 && shares)
      refuse(parameters, "workers cannot share the scales of buckets; expected shared=false");
    if (const double sigmas = parameters.real("sigma"); sigmas != 0) {
      LevelCode<ClippedRange> code;
      code.sigmas = sigmas;
      code.bits = kBits;
      return make(code, bucket, scale, shares);
    }
    LevelCode<GreatestRange> code;
    code.bits = kBits;
    return make(code, bucket, scale, shares);
  }
  return nullptr;
}

/// Returns null for methods that are not dense or have no GPU implementation.
template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_quantizer(const std::string& name,
                                                        const Parameters& parameters,
                                                        std::span<const TensorInfo> tensors,
                                                        const CompressorSettings& settings) {
  if (auto codes = make_code_quantizer<Device>(name, parameters, tensors, settings)) return codes;
  const std::string finite = "a value in the payload is not finite";
  if (name == "none" || name == "fedavg")
    return std::make_unique<WordQuantizer<Device, Fp32Code>>(Fp32Code{}, "");
  if (name == "fp16" || name == "bf16") {
    const HalfFormat format = name == "fp16" ? HalfFormat::kFp16 : HalfFormat::kBf16;
    return std::make_unique<WordQuantizer<Device, HalfCode>>(HalfCode{format}, finite);
  }
  if (name == "natural") {
    return std::make_unique<WordQuantizer<Device, NaturalCode>>(
        NaturalCode{},
        "an exponent in the payload is 255, or bits after the last sign are not zero",
        streams_of(tensors, settings));
  }
  if (name == "3lc") {
    return std::make_unique<TernaryQuantizer<Device>>(
        DeviceTernaryOptions{.sparsity = static_cast<float>(parameters.real("s")),
                             .zero_run = parameters.flag("zre"),
                             .bucket = bucket_of(parameters)});
  }
  if (name == "powersgd") {
    DevicePowerSgdOptions options{.warm_start = parameters.flag("warm"),
                                  .in_rounds = parameters.choice("exchange") == "allreduce"};
    const auto rank = static_cast<std::size_t>(parameters.integer("rank"));
    for (const TensorInfo& tensor : tensors) {
      options.shapes.push_back(low_rank_shape(tensor.shape, tensor.elements, rank));
      options.seeds.push_back(settings.seed ^ hash_name(tensor.name));
    }
    return std::make_unique<PowerSgdQuantizer<Device>>(std::move(options));
  }
  if (name == "demo") {
    DeviceDemoOptions options{.k = static_cast<std::size_t>(parameters.integer("topk")),
                              .values = parameters.choice("values")};
    const std::size_t chunk = std::stoul(parameters.choice("chunk"));
    for (const TensorInfo& tensor : tensors) {
      options.grids.push_back(demo_grid(tensor.shape, tensor.elements, chunk));
      // Coefficients, like elements, are counted in 31 bits (kernels/prefix.h).
      if (constexpr std::size_t kMax = 0x7fffffff; options.grids.back().coefficients() > kMax) {
        refuse(parameters, "tensor '" + tensor.name + "' has " +
                               std::to_string(options.grids.back().coefficients()) +
                               " coefficients; at most " + std::to_string(kMax) + " fit");
      }
    }
    return std::make_unique<DemoQuantizer<Device>>(std::move(options));
  }
  if (name == "stoch3") {
    DeviceTernaryOptions options{.sparsity = 1, .zero_run = false, .stochastic = true};
    options.streams = streams_of(tensors, settings);
    return std::make_unique<TernaryQuantizer<Device>>(std::move(options));
  }
  if (name == "thc" || name == "fp8" || name == "mxfp4" || name == "blockint8" ||
      name == "blockint4" || name == "qgz" || name == "sdp4bit") {
    DeviceBlockOptions options;
    if (name == "thc") {
      options.format =
          thc_format(std::stoi(parameters.choice("bits")), std::stoul(parameters.choice("block")));
      options.range = static_cast<float>(parameters.real("range"));
    } else {
      options.format = block_format_of(parameters, block_element_of(name, parameters));
    }
    for (const TensorInfo& tensor : tensors)
      options.sign_seeds.push_back(settings.seed ^ hash_name(tensor.name));
    options.streams = streams_of(tensors, settings);
    return make_block_quantizer<Device>(std::move(options));
  }
  return nullptr;
}

}  // namespace thinpipe::cuda
