// Makes a device compressor from a spec.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compressors/cuda/dense_device_compressor.h"
#include "compressors/cuda/device/makers.h"
#include "compressors/cuda/device/refuse.h"
#include "compressors/cuda/encode/make_encoding.h"
#include "compressors/cuda/make_memory.h"
#include "compressors/cuda/quantize/make_quantizer.h"
#include "compressors/cuda/select/make_selector.h"
#include "compressors/cuda/sparse_device_compressor.h"
#include "compressors/registry.h"
#include "compressors/spec.h"

namespace thinpipe::cuda {

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

}  // namespace thinpipe::cuda
