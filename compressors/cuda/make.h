// From a spec to the compressor on a device.
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

/// Counts of kernels have 31 bits (kernels/prefix.h).
constexpr std::size_t kMostElements = 0x7fffffff;
constexpr const char* kThere =
    "3lc, bf16, blockint4, blockint8, demo, dgc, ef21, efsignsgd, fedavg, fp16, fp8, gaussiank, "
    "gradientdropping, hybrid, int8, mqe1bit, mstopk, mxfp4, natural, none, onebit, powersgd, qgz, "
    "qsgd, "
    "randomk, "
    "redsync, sbc, sdp4bit, sidco, signsgd, sparseloco, stoch3, strom, terngrad, thc, threshold, "
    "topk and "
    "variance";

/// @throws InputError as make_compressor, and for what is not there yet.
template <class Device>
std::unique_ptr<DeviceCompressor> make_device_compressor(std::shared_ptr<Device> device,
                                                         const Spec& spec,
                                                         std::span<const TensorInfo> tensors,
                                                         const CompressorSettings& settings) {
  const Parameters parameters(find_method(spec.name).parameters, spec);
  // Parameters that do not go together are refused as the processor's compressor refuses them.
  find_method(spec.name).make(parameters, {.name = "", .shape = {0}, .elements = 0}, settings);
  std::vector<StateIdentity> identities;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.elements > kMostElements) {
      refuse(parameters, "tensor '" + tensor.name + "' has " + std::to_string(tensor.elements) +
                             " elements; at most " + std::to_string(kMostElements) + " fit");
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
  refuse(parameters, std::string("the method is not there yet; ") + kThere + " are");
}

}  // namespace thinpipe::cuda
