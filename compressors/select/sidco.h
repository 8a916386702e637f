// Threshold from a fitted distribution (SIDCo), refined over several stages.
#pragma once

#include <memory>

#include "compressors/select/ratio.h"
#include "compressors/select/selector.h"

namespace thinpipe {

/// What the magnitudes are taken for; called E, GP and P in the paper.
enum class SidcoDistribution { kExponential, kGamma, kPareto };

struct SidcoOptions {
  RatioSchedule ratio = {};
  SidcoDistribution distribution = SidcoDistribution::kExponential;
  bool exact_gamma = false;   ///< the gamma distribution's quantile instead of its approximation
  bool location_min = false;  ///< a later stage begins at the least that exceeded the one before
  double first_ratio = 0.25;  ///< delta_1, what the first of several stages keeps
  int fixed_stages = 0;       ///< M; 0: adapted by the rule
  bool climb = false;         ///< reverse the rule's direction where it makes things worse
  double tolerance = 0.2;     ///< epsilon_H = epsilon_L
  int every = 5;              ///< Q, compressions between adaptations
};

/// Stage 1 fits all magnitudes and takes the threshold that a share delta_1 should exceed (the
/// ratio itself where there is one stage, or where it is at least delta_1). Stage m fits the excess
/// of what exceeded the stage before over that threshold, for a share
/// delta_m = (ratio / delta_1)^(1 / (M - 1)); a gamma distribution's tail is fitted as a
/// generalised Pareto distribution's. The fits are in select/sidco_fit.h (SIDCo alg. 1). The number
/// of stages is adapted as select/sidco_stages.h says. State is per tensor.
std::unique_ptr<Selector> make_sidco_selector(std::size_t elements, const SidcoOptions& options);

}  // namespace thinpipe
