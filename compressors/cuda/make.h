// Makes a device compressor from a spec.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compressors/cuda/dense_device_compressor.h"
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
/// Methods with a GPU implementation.
constexpr const char* kOnGpu =
    "3lc, bf16, blockint4, blockint8, demo, dgc, ef21, efsignsgd, fedavg, fp16, fp8, gaussiank, "
    "gradientdropping, hybrid, int8, mqe1bit, mstopk, mxfp4, natural, none, onebit, powersgd, qgz, "
    "qsgd, "
    "randomk, "
    "redsync, sbc, sdp4bit, sidco, signsgd, sparseloco, stoch3, strom, terngrad, thc, threshold, "
    "topk or "
    "variance";

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
  if (auto quantizer = make_quantizer<Device>(spec.name, parameters, tensors, settings)) {
    return std::make_unique<DenseDeviceCompressor<Device>>(std::move(device), std::move(identities),
                                                           memory_of(spec.name, parameters),
                                                           std::move(quantizer));
  }
  if (auto selector = make_selector<Device>(spec.name, parameters, tensors, settings)) {
    return std::make_unique<SparseDeviceCompressor<Device>>(
        std::move(device), std::move(identities), memory_of(spec.name, parameters),
        std::move(selector), make_encoding<Device>(parameters, tensors));
  }
  refuse(parameters, std::string("the method has no GPU implementation; expected ") + kOnGpu);
}

}  // namespace thinpipe::cuda
