// A fixed threshold, and one that a sample estimates.
#pragma once

#include <cstdint>
#include <memory>

#include "compressors/select/ratio.h"
#include "compressors/select/selector.h"

namespace thinpipe {

/// Every |c| > tau. It aims at no count.
std::unique_ptr<Selector> make_threshold_selector(std::size_t elements, double tau);

struct SampledThresholdOptions {
  RatioSchedule ratio = {};
  double sample = 0.001;   ///< share of the elements that is sampled, uniformly
  std::uint64_t seed = 1;  ///< of the sample; every step draws another
};

/// Every |c| above the ceil(sample * ratio * d)-th largest of the sample (Aji and Heafield, 2017,
/// section 3). However many these are.
std::unique_ptr<Selector> make_sampled_threshold_selector(std::size_t elements,
                                                          const SampledThresholdOptions& options);

}  // namespace thinpipe
