// The criterion of variance-based compression, with the update of the variances, in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/keys.h"

namespace thinpipe {

struct AmbiguityOptions {
  float alpha = 1;         ///< how unambiguous an element must be
  float zeta = 0.999F;     ///< decay of the variances
  std::int32_t limit = 0;  ///< magnitude key that r must reach as well
};

/// For every element: v = v + q; it is chosen when r^2 > alpha v and its magnitude reaches the
/// limit; then v = zeta v (Tsuzuku et al., fig. 1). Writes position, r and v as it was before the
/// decay of the chosen ones, in order of position, to outputs with room for r.size(). All products
/// and sums in float, each rounded once. An element whose r or v is not finite is never too
/// ambiguous: the limit alone decides, so that it can be forgotten. @returns how many were chosen.
std::size_t choose_unambiguous(std::span<const float> r, std::span<const float> q,
                               const AmbiguityOptions& options, std::span<float> v,
                               std::uint32_t* positions, float* values, float* variances);

}  // namespace thinpipe
