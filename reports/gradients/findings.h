// What statistics of gradients say, in a few plain sentences.
#pragma once

#include <string>
#include <vector>

#include "reports/gradients/summary.h"

namespace thinpipe {

/// "lenet5, whole model (431,080 elements), 10 steps from 150 to 159".
std::string stats_subject(const StatsSummary& summary);

/// Which distribution is nearest without and with error feedback; whether the gradient counts as
/// compressible and what its largest elements hold; the tensor that is farthest from the fits; how
/// alike workers and steps are; what is to be doubted. Plain text: not escaped for any markup.
std::vector<std::string> stats_findings(const StatsSummary& summary);

/// How the figures were computed, in sentences.
std::vector<std::string> stats_method_notes(const StatsSummary& summary);

}  // namespace thinpipe
