// BlockGather in closed form (workloads/exchange/block_gather.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "workloads/exchange/cost/traffic.h"
#include "workloads/exchange/segments.h"

namespace thinpipe {

/// So many bytes as one message without its length, cut into segments.
constexpr Volume plain_message(std::size_t bytes) { return {segments_of_bytes(bytes), bytes}; }

/// In step s a rank sends the min(2^s, n - 2^s) blocks from its own on as one message, and receives
/// those that follow.
inline Traffic block_gather_traffic(std::span<const std::size_t> sizes, int rank) {
  const std::size_t n = sizes.size(), own = static_cast<std::size_t>(rank);
  const auto of = [&](std::size_t first, std::size_t count) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) bytes += sizes[(first + i) % n];
    return plain_message(bytes);
  };
  Traffic traffic;
  for (std::size_t have = 1; have < n; have *= 2) {
    const std::size_t some = std::min(have, n - have);
    traffic.sent = traffic.sent + of(own, some);
    traffic.received = traffic.received + of(own + have, some);
  }
  return traffic;
}

}  // namespace thinpipe
