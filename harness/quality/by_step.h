// What a replay kept, step by step.
#pragma once

#include <cstddef>
#include <vector>

#include "harness/quality/offline.h"

namespace thinpipe {

/// A step in which payloads were exchanged; counted from 0, those that only hold included.
struct StepQuality {
  std::size_t step = 0;
  QualitySummary summary;  ///< of that step alone, but for the drift, which is since the first
};

/// Of all tensors and ranks, in the order of the steps.
std::vector<StepQuality> quality_by_step(const CompressorQuality& quality);
/// Of one tensor, over the ranks.
std::vector<StepQuality> quality_by_step(const TensorQuality& tensor);

}  // namespace thinpipe
