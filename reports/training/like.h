// Which training goes with a point of a run.
#pragma once

#include "reports/summary/summary.h"
#include "reports/training/summary.h"

namespace thinpipe {

/// The training with the same compressor and feed that ended with a loss: of as many workers where
/// there is a trusted one, for the link does not change what a training ends with; null without
/// any.
const TrainedGroup* trained_like(const TrainingSummary& trained, const Series& series, int ranks);

}  // namespace thinpipe
