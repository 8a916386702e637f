// From a spec to what quantises all elements on a device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/quantize/blocks.h"
#include "compressors/cuda/quantize/ternary.h"
#include "compressors/cuda/quantize/words.h"
#include "compressors/cuda/refuse.h"
#include "compressors/methods/block.h"
#include "compressors/methods/common.h"
#include "compressors/quantize/thc.h"

namespace thinpipe::cuda {

/// random_stream() of each tensor.
inline std::vector<std::uint64_t> streams_of(std::span<const TensorInfo> tensors,
                                             const CompressorSettings& settings) {
  std::vector<std::uint64_t> streams;
  for (const TensorInfo& tensor : tensors)
    streams.push_back(random_stream(settings.seed, settings.rank, tensor.name));
  return streams;
}

/// What a method of blocks sends.
inline BlockElement block_element_of(const std::string& name, const Parameters& parameters) {
  if (name == "mxfp4") return BlockElement::kE2M1;
  if (name == "blockint8") return BlockElement::kInt8;
  if (name != "fp8") return BlockElement::kInt4;
  return parameters.choice("format") == "e4m3" ? BlockElement::kE4M3 : BlockElement::kE5M2;
}

/// Null for a method that is no dense one, or not there yet.
template <class Device>
std::unique_ptr<DeviceQuantizer<Device>> make_quantizer(const std::string& name,
                                                        const Parameters& parameters,
                                                        std::span<const TensorInfo> tensors,
                                                        const CompressorSettings& settings) {
  const std::string finite = "a value in the payload is not finite";
  if (name == "none") return std::make_unique<WordQuantizer<Device, Fp32Code>>(Fp32Code{}, "");
  if (name == "fp16" || name == "bf16") {
    const HalfFormat format = name == "fp16" ? HalfFormat::kFp16 : HalfFormat::kBf16;
    return std::make_unique<WordQuantizer<Device, HalfCode>>(HalfCode{format}, finite);
  }
  if (name == "signsgd") {
    return std::make_unique<WordQuantizer<Device, SignCode>>(
        SignCode{static_cast<float>(parameters.real("scale"))},
        "bits after the last element's are not zero");
  }
  if (name == "int8" || name == "3lc") {
    if (parameters.integer("bucket") > 0) refuse(parameters, "bucket is not there yet");
    if (name == "int8") {
      return std::make_unique<WordQuantizer<Device, Int8Code>>(
          Int8Code{}, "the step in the payload is not a finite number of at least 0");
    }
    return std::make_unique<TernaryQuantizer<Device>>(DeviceTernaryOptions{
        .sparsity = static_cast<float>(parameters.real("s")), .zero_run = parameters.flag("zre")});
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
