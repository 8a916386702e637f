// Threshold from a fitted distribution (SIDCo), refined over several stages.
#pragma once

#include <memory>

#include "compressors/select/ratio.h"
#include "compressors/select/selector.h"

namespace thinpipe {

struct SidcoOptions {
  RatioSchedule ratio = {};
  double first_ratio = 0.25;  ///< delta_1, what the first of several stages keeps
  int fixed_stages = 0;       ///< M; 0: adapted by the rule
  bool climb = false;         ///< reverse the rule's direction where it makes things worse
  double tolerance = 0.2;     ///< epsilon_H = epsilon_L
  int every = 5;              ///< Q, compressions between adaptations
};

/// Stage 1: eta = mean |c| * ln(1 / delta_1); stage m: eta += mean excess * ln(1 / delta_m), on the
/// elements that exceed the stage before (SIDCo eqs. 6, 10 and 11; exponential distribution).
/// The number of stages is adapted as select/sidco_stages.h says. State is per tensor.
std::unique_ptr<Selector> make_sidco_exp_selector(std::size_t elements,
                                                  const SidcoOptions& options);

}  // namespace thinpipe
