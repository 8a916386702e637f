// Traffic of workers and parameter servers in closed form, without an exchange.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/collectives/push_pull_options.h"
#include "workloads/collectives/segments.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {

/// Returns the traffic of every rank, workers first, in a step in which all units take part.
/// @param push  bytes of payloads: push[worker][unit]
/// @param pull  bytes of each unit's answer, which every worker receives
inline std::vector<Traffic> push_pull_traffic(const PushPullLayout& layout,
                                              std::span<const std::vector<std::size_t>> push,
                                              std::span<const std::size_t> pull) {
  const auto with_head = [](std::size_t payload) {
    const std::size_t framed = kUnitHeadBytes + payload;
    return Volume{segments_of_bytes(framed), framed};
  };
  std::vector<Traffic> ranks(static_cast<std::size_t>(layout.ranks()));
  for (std::size_t unit = 0; unit < layout.units.size(); ++unit) {
    Traffic& server =
        ranks[static_cast<std::size_t>(layout.rank_of_server(layout.units[unit].server))];
    for (std::size_t worker = 0; worker < push.size(); ++worker) {
      if (&ranks[worker] == &server) continue;  // a slice that the rank itself averages
      const Volume up = with_head(push[worker][unit]), down = with_head(pull[unit]);
      ranks[worker].sent += up;
      ranks[worker].received += down;
      server.sent += down;
      server.received += up;
    }
  }
  return ranks;
}

}  // namespace thinpipe
