#include "workloads/exchange/cost/forms.h"

namespace thinpipe {

// Part v(r+1) is the one that rank r does not send when parts are reduced, v(r+2) when the sums go
// round.
Traffic ring_reduce_traffic(const SummedArray& array, int ranks, int rank) {
  if (ranks == 1) return {};
  const ArrayVolume volume(array, ranks);
  const Volume twice = volume.all() * 2;
  return {.sent = twice - volume.of(rank + 1) - volume.of(rank + 2),
          .received = twice - volume.of(rank) - volume.of(rank + 1)};
}

Traffic ring_gather_traffic(const MessageVolume& messages, int rank) {
  return {.sent = messages.all() - messages.of(rank + 1),
          .received = messages.all() - messages.of(rank)};
}

}  // namespace thinpipe
