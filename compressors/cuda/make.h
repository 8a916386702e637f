// Makes a device compressor from a spec.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compressors/cuda/dense_device_compressor.h"
#include "compressors/cuda/device/makers.h"
#include "compressors/cuda/device_base.h"
#include "compressors/cuda/encode/device_encoding.h"
#include "compressors/cuda/quantize/make_quantizer.h"
#include "compressors/cuda/select/make_selector.h"
#include "compressors/cuda/sparse_device_compressor.h"
#include "compressors/methods/common.h"
#include "compressors/registry.h"
#include "compressors/spec.h"

namespace thinpipe::cuda {

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

/// Kernels count elements in 31 bits (kernels/prefix.h).
constexpr std::size_t kMaxElements = 0x7fffffff;
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
  std::vector<StateIdentity> identities;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.elements > kMaxElements) {
      refuse(parameters, "tensor '" + tensor.name + "' has " + std::to_string(tensor.elements) +
                             " elements; at most " + std::to_string(kMaxElements) + " fit");
    }
    identities.push_back(identity_of(parameters, tensor));
  }
  const MakerInput input{spec.name, parameters, tensors, settings};
  if (auto quantizer = make_part(quantizer_makers<Device>(), input)) {
    return make_dense_device_compressor<Device>(std::move(device), std::move(identities),
                                                memory_of(spec.name, parameters),
                                                std::move(quantizer));
  }
  if (auto selector = make_part(selector_makers<Device>(), input)) {
    return std::make_unique<SparseDeviceCompressor<Device>>(
        std::move(device), std::move(identities), memory_of(spec.name, parameters),
        std::move(selector), make_encoding<Device>(parameters, tensors));
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
