// Real interfaces that thinpipe throttles, or left throttled.
#pragma once

#include <vector>

#include "harness/doctor/finding.h"

namespace thinpipe {

/// One for each interface with a state file; none on a host where nothing was ever throttled.
std::vector<Finding> card_findings();

}  // namespace thinpipe
