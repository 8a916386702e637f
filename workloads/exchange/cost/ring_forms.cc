#include "workloads/exchange/cost/forms.h"

namespace thinpipe {

// Part v(r+1) is the one that rank r does not send when parts are reduced, v(r+2) when the sums go
// round.
Traffic ring_reduce_traffic(std::size_t elements, int ranks, int rank) {
  if (ranks == 1) return {};
  const ArrayVolume array(elements, ranks);
  const Volume twice = array.all() * 2;
  return {.sent = twice - array.of(rank + 1) - array.of(rank + 2),
          .received = twice - array.of(rank) - array.of(rank + 1)};
}

Traffic ring_gather_traffic(const MessageVolume& messages, int rank) {
  return {.sent = messages.all() - messages.of(rank + 1),
          .received = messages.all() - messages.of(rank)};
}

}  // namespace thinpipe
