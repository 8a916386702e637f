// Makes a device selector from a spec.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/device/refuse.h"
#include "compressors/cuda/select/chunked_top_k.h"
#include "compressors/cuda/select/dgc.h"
#include "compressors/cuda/select/gaussiank.h"
#include "compressors/cuda/select/mstopk.h"
#include "compressors/cuda/select/random_k.h"
#include "compressors/cuda/select/redsync.h"
#include "compressors/cuda/select/sampled.h"
#include "compressors/cuda/select/sbc.h"
#include "compressors/cuda/select/sidco.h"
#include "compressors/cuda/select/threshold.h"
#include "compressors/cuda/select/top_k.h"
#include "compressors/cuda/select/variance.h"
#include "compressors/methods/common.h"
#include "compressors/methods/selectors.h"

namespace thinpipe::cuda {

inline Sampling sampling_of(const std::string& name) {
  if (name == "lines") return Sampling::kLines;
  return name == "strided" ? Sampling::kStrided : Sampling::kUniform;
}

/// Returns null for methods that are not sparse.
template <class Device>
std::unique_ptr<DeviceSelector<Device>> make_selector(const std::string& name,
                                                      const Parameters& parameters,
                                                      std::span<const TensorInfo> tensors,
                                                      const CompressorSettings& settings) {
  if (name == "threshold")
    return std::make_unique<ThresholdSelector<Device>>(parameters.real("tau"));
  if (name == "sparseloco") return std::make_unique<ChunkedSelector<Device>>(chunks_of(parameters));
  if (name == "strom") {
    const auto tau = static_cast<float>(parameters.real("tau"));
    return std::make_unique<ThresholdSelector<Device, Stepping>>(tau);
  }
  if (name == "variance" || name == "hybrid") {
    const float tau = name == "hybrid" ? static_cast<float>(parameters.real("tau")) : 0;
    std::vector<std::string> names;
    for (const TensorInfo& tensor : tensors) names.push_back(tensor.name);
    return std::make_unique<VarianceSelector<Device>>(tau, variance_options(parameters, {}),
                                                      std::move(names));
  }
  std::vector<std::uint64_t> seeds;
  for (const TensorInfo& tensor : tensors) seeds.push_back(settings.seed ^ hash_name(tensor.name));
  if (name == "randomk") {
    return std::make_unique<RandomKSelector<Device>>(ratio_of(parameters), parameters.flag("scale"),
                                                     std::move(seeds));
  }
  if (name == "sbc") {
    return std::make_unique<SbcSelector<Device>>(ratio_of(parameters, "p"),
                                                 parameters.real("sample"), std::move(seeds));
  }
  const bool dropping = name == "gradientdropping";
  if (name == "topk" || name == "ef21" || (dropping && parameters.real("sample") == 0))
    return std::make_unique<TopKSelector<Device>>(ratio_of(parameters));
  if (name == "redsync") {
    return std::make_unique<RedSyncSelector<Device>>(ratio_of(parameters),
                                                     parameters.choice("variant") == "trim");
  }
  if (name == "gaussiank") {
    return std::make_unique<GaussianKSelector<Device>>(GaussianKOptions{
        .ratio = ratio_of(parameters), .oktopk = parameters.choice("variant") == "oktopk"});
  }
  if (name == "mstopk") {
    return std::make_unique<MsTopKSelector<Device>>(
        ratio_of(parameters), static_cast<int>(parameters.integer("rounds")), std::move(seeds));
  }
  if (dropping || name == "dgc") {
    DeviceSampleOptions options{.ratio = ratio_of(parameters),
                                .sample = parameters.real("sample"),
                                .seeds = std::move(seeds)};
    if (dropping) return std::make_unique<SampledThresholdSelector<Device>>(std::move(options));
    options.sampling = sampling_of(parameters.choice("sampling"));
    return std::make_unique<DgcSelector<Device>>(tensors.size(), std::move(options));
  }
  if (name == "sidco") {
    return std::make_unique<SidcoSelector<Device>>(tensors.size(), sidco_options(parameters));
  }
  return nullptr;
}

}  // namespace thinpipe::cuda
