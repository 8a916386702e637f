#include "harness/files/finite.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"
#include "compressors/kernels/nonfinite.h"

namespace thinpipe {

std::span<const float> finite_values(std::span<const float> values, BadValues policy,
                                     const std::string& where, std::vector<float>& repaired) {
  const std::size_t bad = first_non_finite(values);
  if (bad == kAllFinite) return values;
  if (policy == BadValues::kRefuse) {
    throw InputError(
        fmt::format("{}: element {} is {}; --non-finite zero replaces such values by 0", where, bad,
                    values[bad]));
  }
  repaired.assign(values.begin(), values.end());
  for (float& value : repaired) {
    if (!std::isfinite(value)) value = 0;
  }
  return repaired;
}

}  // namespace thinpipe
