// Makes the options of a device memory from a spec's parameters.
#pragma once

#include <cmath>
#include <string>

#include "compressors/cuda/device_base.h"
#include "compressors/methods/common.h"

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

}  // namespace thinpipe::cuda
