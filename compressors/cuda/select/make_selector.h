// From a spec to what chooses elements on a device.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "compressors/cuda/refuse.h"
#include "compressors/cuda/select/dgc.h"
#include "compressors/cuda/select/redsync.h"
#include "compressors/cuda/select/sampled.h"
#include "compressors/cuda/select/sidco.h"
#include "compressors/cuda/select/threshold.h"
#include "compressors/cuda/select/top_k.h"
#include "compressors/methods/common.h"

namespace thinpipe::cuda {

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
  if (name == "topk" || name == "ef21" || (dropping && parameters.real("sample") == 0))
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

}  // namespace thinpipe::cuda
