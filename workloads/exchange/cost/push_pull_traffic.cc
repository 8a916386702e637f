#include "workloads/exchange/cost/push_pull_traffic.h"

#include "workloads/exchange/segments.h"

namespace thinpipe {

namespace {

// A payload behind its head.
Volume volume_of(std::size_t payload) {
  const std::size_t framed = kUnitHeadBytes + payload;
  return {segments_of_bytes(framed), framed};
}

}  // namespace

std::vector<Traffic> push_pull_traffic(const PushPullLayout& layout,
                                       std::span<const std::vector<std::size_t>> push,
                                       std::span<const std::size_t> pull) {
  std::vector<Traffic> ranks(static_cast<std::size_t>(layout.ranks()));
  for (std::size_t unit = 0; unit < layout.units.size(); ++unit) {
    Traffic& server =
        ranks[static_cast<std::size_t>(layout.rank_of_server(layout.units[unit].server))];
    for (std::size_t worker = 0; worker < push.size(); ++worker) {
      if (&ranks[worker] == &server) continue;  // a slice of one's own
      const Volume up = volume_of(push[worker][unit]), down = volume_of(pull[unit]);
      ranks[worker].sent = ranks[worker].sent + up;
      ranks[worker].received = ranks[worker].received + down;
      server.sent = server.sent + down;
      server.received = server.received + up;
    }
  }
  return ranks;
}

}  // namespace thinpipe
