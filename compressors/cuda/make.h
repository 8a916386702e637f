// From a spec to the compressor on a device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compressors/cuda/dense_device_compressor.h"
#include "compressors/cuda/quantize/ternary.h"
#include "compressors/cuda/quantize/words.h"
#include "compressors/cuda/select/dgc.h"
#include "compressors/cuda/select/redsync.h"
#include "compressors/cuda/select/sampled.h"
#include "compressors/cuda/select/sidco.h"
#include "compressors/cuda/select/threshold.h"
#include "compressors/cuda/select/top_k.h"
#include "compressors/cuda/sparse_device_compressor.h"
#include "compressors/methods/common.h"
#include "compressors/registry.h"
#include "compressors/spec.h"

namespace thinpipe::cuda {

/// Counts of kernels have 31 bits (grid/prefix.h).
constexpr std::size_t kMostElements = 0x7fffffff;
constexpr const char* kThere =
    "3lc, bf16, dgc, fp16, gradientdropping, int8, none, redsync, sidco, signsgd, stoch3, "
    "threshold "
    "and topk";

[[noreturn]] inline void refuse(const Parameters& parameters, const std::string& what) {
  throw InputError("compressor '" + parameters.text() + "' with device=cuda: " + what);
}

/// @throws InputError for a parameter whose value has no twin yet.
inline void require_choice(const Parameters& parameters, const std::string& name,
                           const std::vector<std::string>& allowed) {
  std::string list;
  for (const std::string& one : allowed) {
    if (parameters.choice(name) == one) return;
    list += (list.empty() ? "" : ", ") + one;
  }
  refuse(parameters,
         name + "=" + parameters.choice(name) + " is not there yet; " + name + " may be " + list);
}

inline DeviceMemoryOptions memory_of(const std::string& name, const Parameters& parameters) {
  using Kind = DeviceMemoryOptions::Kind;
  if (name == "none") return {.kind = Kind::kNone};  // has no parameters
  require_choice(parameters, "memory", {"none", "residual", "momentum"});
  if (parameters.real("clip") > 0) refuse(parameters, "clip is not there yet");
  if (period_of(parameters) > 1) refuse(parameters, "delay is not there yet");
  const std::string& kind = parameters.choice("memory");
  return {.kind = kind == "none"       ? Kind::kNone
                  : kind == "residual" ? Kind::kResidual
                                       : Kind::kMomentum,
          .decay = static_cast<float>(parameters.real("decay")),
          .momentum = static_cast<float>(parameters.real("momentum")),
          .nesterov = parameters.flag("nesterov"),
          .masking = parameters.flag("masking")};
}

inline Sampling sampling_of(const std::string& name) {
  if (name == "lines") return Sampling::kLines;
  return name == "strided" ? Sampling::kStrided : Sampling::kUniform;
}

/// Null for a method that is no sparse one.
template <class Device>
std::unique_ptr<DeviceSelector<Device>> make_selector(const std::string& name,
                                                      const Parameters& parameters,
                                                      std::span<const TensorInfo> tensors,
                                                      const CompressorSettings& settings) {
  if (name == "threshold")
    return std::make_unique<ThresholdSelector<Device>>(parameters.real("tau"));
  const bool dropping = name == "gradientdropping";
  if (name == "topk" || (dropping && parameters.real("sample") == 0))
    return std::make_unique<TopKSelector<Device>>(ratio_of(parameters));
  if (name == "redsync") {
    require_choice(parameters, "variant", {"bisect"});
    return std::make_unique<RedSyncSelector<Device>>(ratio_of(parameters));
  }
  if (dropping || name == "dgc") {
    DeviceSampleOptions options{.ratio = ratio_of(parameters), .sample = parameters.real("sample")};
    for (const TensorInfo& tensor : tensors)
      options.seeds.push_back(settings.seed ^ hash_name(tensor.name));
    if (dropping) return std::make_unique<SampledThresholdSelector<Device>>(std::move(options));
    options.sampling = sampling_of(parameters.choice("sampling"));
    return std::make_unique<DgcSelector<Device>>(tensors.size(), std::move(options));
  }
  if (name == "sidco") {
    require_choice(parameters, "dist", {"exp"});
    require_choice(parameters, "location", {"threshold"});
    return std::make_unique<SidcoSelector<Device>>(
        tensors.size(), SidcoOptions{.ratio = ratio_of(parameters),
                                     .first_ratio = parameters.real("first"),
                                     .fixed_stages = static_cast<int>(parameters.integer("stages")),
                                     .climb = parameters.choice("adapt") == "climb",
                                     .tolerance = parameters.real("eps"),
                                     .every = static_cast<int>(parameters.integer("q"))});
  }
  return nullptr;
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
    for (const TensorInfo& tensor : tensors)
      options.streams.push_back(random_stream(settings.seed, settings.rank, tensor.name));
    return std::make_unique<TernaryQuantizer<Device>>(std::move(options));
  }
  return nullptr;
}

/// @throws InputError as make_compressor, and for what is not there yet.
template <class Device>
std::unique_ptr<DeviceCompressor> make_device_compressor(std::shared_ptr<Device> device,
                                                         const Spec& spec,
                                                         std::span<const TensorInfo> tensors,
                                                         const CompressorSettings& settings) {
  const Parameters parameters(find_method(spec.name).parameters, spec);
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
    require_choice(parameters, "values", {"fp32"});
    require_choice(parameters, "positions", {"raw32"});
    return std::make_unique<SparseDeviceCompressor<Device>>(
        std::move(device), std::move(identities), memory_of(spec.name, parameters),
        std::move(selector));
  }
  refuse(parameters, std::string("the method is not there yet; ") + kThere + " are");
}

}  // namespace thinpipe::cuda
