// The selectors of a GPU, by the method's name.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "compressors/cuda/device/makers.h"
#include "compressors/cuda/select/one_pass.h"
#include "compressors/cuda/select/sampled.h"
#include "compressors/cuda/select/sbc.h"
#include "compressors/cuda/select/searched.h"
#include "compressors/cuda/select/sidco.h"
#include "compressors/cuda/select/top_k.h"
#include "compressors/methods/common.h"
#include "compressors/methods/selectors.h"

namespace thinpipe::cuda {

inline Sampling sampling_of(const std::string& name) {
  if (name == "lines") return Sampling::kLines;
  return name == "strided" ? Sampling::kStrided : Sampling::kUniform;
}

inline DeviceSampleOptions sample_options(const MakerInput& input) {
  return {.ratio = ratio_of(input.parameters),
          .sample = input.parameters.real("sample"),
          .seeds = input.seeds()};
}

template <class Device>
std::unique_ptr<DeviceSelector<Device>> make_variance_selector(const MakerInput& input, float tau) {
  return std::make_unique<VarianceSelector<Device>>(
      tau, variance_options(input.parameters, {}),
      input.by_tensor([](const TensorInfo& one) { return one.name; }));
}

/// Returns the makers of all sparse methods.
template <class Device>
const Makers<DeviceSelector<Device>>& selector_makers() {
  using Made = std::unique_ptr<DeviceSelector<Device>>;
  const auto top_k = [](const MakerInput& input) -> Made {
    return std::make_unique<TopKSelector<Device>>(ratio_of(input.parameters));
  };
  static const Makers<DeviceSelector<Device>> makers = {
      {"topk", top_k},
      {"ef21", top_k},
      {"gradientdropping",
       [top_k](const MakerInput& input) -> Made {
         if (input.parameters.real("sample") == 0) return top_k(input);
         return std::make_unique<SampledThresholdSelector<Device>>(sample_options(input));
       }},
      {"dgc",
       [](const MakerInput& input) -> Made {
         DeviceSampleOptions options = sample_options(input);
         options.sampling = sampling_of(input.parameters.choice("sampling"));
         return std::make_unique<DgcSelector<Device>>(input.tensors.size(), std::move(options));
       }},
      {"gaussiank",
       [](const MakerInput& input) -> Made {
         return std::make_unique<GaussianKSelector<Device>>(
             GaussianKOptions{.ratio = ratio_of(input.parameters),
                              .oktopk = input.parameters.choice("variant") == "oktopk"});
       }},
      {"hybrid",
       [](const MakerInput& input) {
         return make_variance_selector<Device>(input,
                                               static_cast<float>(input.parameters.real("tau")));
       }},
      {"mstopk",
       [](const MakerInput& input) -> Made {
         return std::make_unique<MsTopKSelector<Device>>(
             ratio_of(input.parameters), static_cast<int>(input.parameters.integer("rounds")),
             input.seeds());
       }},
      {"randomk",
       [](const MakerInput& input) -> Made {
         return std::make_unique<RandomKSelector<Device>>(
             ratio_of(input.parameters), input.parameters.flag("scale"), input.seeds());
       }},
      {"redsync",
       [](const MakerInput& input) -> Made {
         return std::make_unique<RedSyncSelector<Device>>(
             ratio_of(input.parameters), input.parameters.choice("variant") == "trim");
       }},
      {"sbc",
       [](const MakerInput& input) -> Made {
         return std::make_unique<SbcSelector<Device>>(
             ratio_of(input.parameters, "p"), input.parameters.real("sample"), input.seeds());
       }},
      {"sidco",
       [](const MakerInput& input) -> Made {
         return std::make_unique<SidcoSelector<Device>>(input.tensors.size(),
                                                        sidco_options(input.parameters));
       }},
      {"sparseloco",
       [](const MakerInput& input) -> Made {
         return std::make_unique<ChunkedSelector<Device>>(chunks_of(input.parameters));
       }},
      {"strom",
       [](const MakerInput& input) -> Made {
         return std::make_unique<ThresholdSelector<Device, Stepping>>(
             static_cast<float>(input.parameters.real("tau")));
       }},
      {"threshold",
       [](const MakerInput& input) -> Made {
         return std::make_unique<ThresholdSelector<Device>>(input.parameters.real("tau"));
       }},
      {"variance",
       [](const MakerInput& input) { return make_variance_selector<Device>(input, 0); }}};
  return makers;
}

}  // namespace thinpipe::cuda
