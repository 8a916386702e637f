#include "workloads/predict/phase_flows.h"

#include <algorithm>
#include <utility>

#include "workloads/exchange/segments.h"

namespace thinpipe {

PhaseFlows::PhaseFlows(int ranks, Order order)
    : order_(order),
      ranks_(ranks),
      graph_{.ranks = ranks, .places = 1},
      queues_(static_cast<std::size_t>(ranks) * static_cast<std::size_t>(ranks), -1),
      received_(static_cast<std::size_t>(ranks)),
      there_(received_) {}

FlowQueue& PhaseFlows::queue(int from, int to) {
  const int place = from * ranks_ + (order_ == Order::kTurns ? to : 0);
  int& index = queues_[static_cast<std::size_t>(place)];
  if (index < 0) {
    index = static_cast<int>(graph_.queues.size());
    graph_.queues.push_back({.from = from});
  }
  return graph_.queues[static_cast<std::size_t>(index)];
}

void PhaseFlows::send(int from, int to, std::size_t bytes) {
  FlowQueue& way = queue(from, to);
  for (std::size_t at = 0; at < bytes; at += kSegmentBytes) {
    way.messages.push_back({.to = static_cast<std::uint32_t>(to),
                            .bytes = static_cast<double>(std::min(kSegmentBytes, bytes - at)),
                            .after = there_[static_cast<std::size_t>(from)]});
    ++received_[static_cast<std::size_t>(to)];
  }
}

void PhaseFlows::gather_blocks(std::span<const std::size_t> blocks) {
  const std::size_t n = blocks.size();
  for (std::size_t have = 1; have < n; have *= 2) {
    begin_phase();
    for (std::size_t rank = 0; rank < n; ++rank) {
      std::size_t bytes = 0;
      for (std::size_t i = 0; i < std::min(have, n - have); ++i) bytes += blocks[(rank + i) % n];
      send(static_cast<int>(rank), static_cast<int>((rank + n - have) % n), bytes);
    }
  }
}

FlowGraph PhaseFlows::take() { return std::move(graph_); }

}  // namespace thinpipe
