// The steps of all ranks in simulated time. Compute and codecs only take their time. Exchanges run
// the code of workloads/collectives over a simulated transport.
#pragma once

#include "workloads/simulate/work.h"

namespace thinpipe {

/// Simulates the steps. Ranks begin each step at the same moment, on links with their whole credit.
/// Call it once in a process. @throws InputError as why_not_simulated(), RunError
SimulatedSteps simulate(SimulatedNetwork network, const SimulatedWork& work);

}  // namespace thinpipe
