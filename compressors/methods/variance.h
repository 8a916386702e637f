// What the methods of Tsuzuku et al. have in common.
#pragma once

#include <limits>

#include "compressors/methods/sparse.h"
#include "compressors/select/variance.h"

namespace thinpipe {

inline std::vector<ParameterInfo> variance_parameters() {
  return {real_parameter("alpha", "1", "how unambiguous an element must be; 1 to 2 in the paper", 0,
                         1e6),
          real_parameter("zeta", "0.999", "decay of the variances in every step", 0, 1)};
}

/// @throws InputError where a shared parameter would leave out or change second moments.
inline VarianceOptions variance_options(const Parameters& parameters, const TensorInfo& tensor) {
  if (period_of(parameters) != 1 || parameters.real("clip") != 0) {
    throw InputError("spec '" + parameters.text() +
                     "': the second moments of held or clipped gradients are not known; expected "
                     "delay=1 and clip=0");
  }
  return {.alpha = static_cast<float>(parameters.real("alpha")),
          .zeta = static_cast<float>(parameters.real("zeta")),
          .tensor = tensor.name};
}

/// A step that Strom's method can send.
inline ParameterInfo tau_parameter() {
  return real_parameter("tau", "0.01", "threshold and decoded magnitude", 1e-30,
                        std::numeric_limits<float>::max());
}

}  // namespace thinpipe
