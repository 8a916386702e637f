#include "workloads/replay/shared_scales.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "compressors/compressor.h"

namespace thinpipe {

void share_greatest_scales(Pattern& pattern, std::span<float> scales,
                           std::span<const PlannedUnit> units) {
  for (const auto message : pattern.all_gather(std::as_bytes(scales))) {
    if (message.size() != scales.size_bytes())
      throw PayloadError(fmt::format("scales of a rank: {} bytes; expected {} for {} tensors",
                                     message.size(), scales.size_bytes(), scales.size()));
    for (std::size_t i = 0; i < scales.size(); ++i) {
      float scale = 0;
      std::memcpy(&scale, message.data() + i * sizeof scale, sizeof scale);
      if (!std::isfinite(scale) || scale < 0)
        throw PayloadError(fmt::format(
            "scale of tensor '{}' from a rank is {}; expected a finite number of at least 0",
            units[i].info.name, scale));
      scales[i] = std::max(scales[i], scale);
    }
  }
}

}  // namespace thinpipe
