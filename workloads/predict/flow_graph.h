// Who sends what to whom in an exchange, and what waits for what: all that its time depends on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace thinpipe {

/// A message of a FlowQueue. Every rank has counters, its *places*; a message that has come raises
/// the receiver's one by 1, as adding a segment to a sum or having it does in a pattern.
struct FlowMessage {
  std::uint32_t to = 0;
  std::uint32_t place = 0;  ///< of the receiver, that it raises
  double bytes = 0;
  std::uint32_t after = 0;  ///< leaves when the sender's counter at `waits_at` is so high
  std::uint32_t waits_at = 0;
  std::uint32_t gate = 0;  ///< is counted when the receiver's counter at `place` is so high
  double work = 0;         ///< s of the receiver's one processor before it is counted: of a server
};

/// Messages that a rank sends in this order, each when it may and those before have left.
struct FlowQueue {
  int from = 0;
  std::vector<FlowMessage> messages = {};
  /// The queue that comes to `from` and that this one is at most kFlowAhead bytes ahead of; -1: of
  /// none (AllReduceStep::paced).
  int pace = -1;
};

struct FlowGraph {
  int ranks = 0;
  std::size_t places = 0;  ///< of each rank
  std::vector<FlowQueue> queues = {};

  std::size_t messages() const {
    std::size_t count = 0;
    for (const FlowQueue& queue : queues) count += queue.messages.size();
    return count;
  }
};

}  // namespace thinpipe
