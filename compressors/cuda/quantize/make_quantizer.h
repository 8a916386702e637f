// From a spec to what quantises all elements on a device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "compressors/cuda/quantize/ternary.h"
#include "compressors/cuda/quantize/words.h"
#include "compressors/cuda/refuse.h"
#include "compressors/methods/common.h"

namespace thinpipe::cuda {

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
    for (const TensorInfo& tensor : tensors)
      options.streams.push_back(random_stream(settings.seed, settings.rank, tensor.name));
    return std::make_unique<TernaryQuantizer<Device>>(std::move(options));
  }
  return nullptr;
}

}  // namespace thinpipe::cuda
