// Which training goes with a point of a run.
#include "reports/training/like.h"

namespace thinpipe {

const TrainedGroup* trained_like(const TrainingSummary& trained, const Series& series, int ranks) {
  const TrainedGroup* found = nullptr;
  for (const TrainedGroup& group : trained.groups) {
    if (group.compressor != series.compressor || group.feed != series.feed) continue;
    if (!group.mean("final_loss")) continue;
    if (group.ranks == ranks && group.trusted()) return &group;
    if (found == nullptr || (group.trusted() && !found->trusted())) found = &group;
  }
  return found;
}

}  // namespace thinpipe
