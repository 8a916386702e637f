// A memory's sum that has not been computed yet, so that the pass that first reads it can be the
// pass that writes it.
#pragma once

#include <cstddef>

namespace thinpipe {

/// r[i] = decay * r[i] + scale * g[i] for i < n, still to be done; see kernels/accumulate.h for how
/// it is rounded.
struct PendingSum {
  const float* g = nullptr;
  float* r = nullptr;
  std::size_t n = 0;
  float decay = 1;
  float scale = 1;

  float at(std::size_t i) const {
    if (decay == 1.0F && scale == 1.0F) return r[i] + g[i];
    const float kept = decay * r[i];
    const float fresh = scale * g[i];
    return kept + fresh;
  }
};

}  // namespace thinpipe
