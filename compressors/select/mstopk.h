// MSTopK: bisection of the threshold, then exactly k elements.
#pragma once

#include <cstdint>
#include <memory>

#include "compressors/select/ratio.h"
#include "compressors/select/selector.h"

namespace thinpipe {

struct MsTopKOptions {
  RatioSchedule ratio = {};
  int rounds = 25;         ///< N, of the bisection
  std::uint64_t seed = 1;  ///< of the choice among those in between
};

/// With m the mean and M the greatest magnitude, N rounds halve the bracket of q in [0, 1] for
/// thresholds m + q (M - m): `upper` is the lowest that at most k magnitudes reach, `lower` the
/// highest that more than k reach (0 if none did). All that reach `upper` are sent, and of the
/// others that reach `lower`, in order of position, as many neighbours as are missing from a random
/// start (Shi et al., MLSys 2021, alg. 1). Always exactly k.
std::unique_ptr<Selector> make_mstopk_selector(std::size_t elements, const MsTopKOptions& options);

}  // namespace thinpipe
