// From a spec's parameters to the memory on a device.
#pragma once

#include <string>

#include "compressors/cuda/device_base.h"
#include "compressors/cuda/refuse.h"
#include "compressors/methods/common.h"

namespace thinpipe::cuda {

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

}  // namespace thinpipe::cuda
