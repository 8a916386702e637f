// Exchanges in phases: a rank sends what it has when all that came in the phases before is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "workloads/predict/flow_graph.h"

namespace thinpipe {

/// Collects messages of all ranks, cut into segments.
class PhaseFlows {
 public:
  /// How a rank's messages of one phase leave.
  enum class Order {
    kOneByOne,  ///< in the order in which they were added
    kTurns,     ///< those to different ranks take turns
  };
  PhaseFlows(int ranks, Order order);

  /// What is sent from here on waits for all that its sender was sent before.
  void begin_phase() { there_ = received_; }
  void send(int from, int to, std::size_t bytes);
  /// Phases by Bruck's algorithm, of blocks of so many bytes by rank (block_gather.h).
  void gather_blocks(std::span<const std::size_t> blocks);

  FlowGraph take();

 private:
  FlowQueue& queue(int from, int to);

  Order order_;
  int ranks_;
  FlowGraph graph_;
  std::vector<int> queues_;                      ///< by sender, or by sender and receiver; -1: none
  std::vector<std::uint32_t> received_, there_;  ///< segments, by rank
};

}  // namespace thinpipe
