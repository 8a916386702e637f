#include "workloads/simulate/work.h"

#include "workloads/collectives/collectives.h"

namespace thinpipe {

bool needs_contents(const Spec& collective, Exchange operation) {
  const CollectiveInfo& info = find_collective(collective.name);
  if (operation == Exchange::kAllReduce) return !info.reduce || info.reduce->plan == nullptr;
  if (operation == Exchange::kAllGather) return !info.gather || info.gather->plan == nullptr;
  return true;
}

std::string why_not_simulated(const Spec& collective, Exchange operation, int ranks) {
  const CollectiveInfo& info = find_collective(collective.name);
  if (operation != Exchange::kPushPull && !info.over_transport())
    return "Open MPI's own code cannot run on a simulated network";
  if (ranks <= kMaxUnfoldedRanks || !needs_contents(collective, operation)) return "";
  return "the lengths of its messages depend on their contents, which only up to " +
         std::to_string(kMaxUnfoldedRanks) + " simulated ranks have";
}

}  // namespace thinpipe
