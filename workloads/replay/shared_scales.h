// Scales that workers share before they encode (TernGrad, section 4.3).
#pragma once

#include <span>

#include "workloads/exchange/pattern.h"
#include "workloads/replay/plan.h"

namespace thinpipe {

/// Every unit's scale becomes the greatest over all ranks, by one gathering of all.
/// @throws PayloadError when a peer sends other than that many scales of at least 0
void share_greatest_scales(Pattern& pattern, std::span<float> scales,
                           std::span<const PlannedUnit> units);

}  // namespace thinpipe
