// Describes an exchange by its messages: sender, receiver, size and dependencies. The time of an
// exchange depends on nothing else. Functions return the messages of each collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "compressors/spec.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {

/// A message of a FlowQueue. Every rank has counters, called *places*, one for each part of its
/// array. A message that arrives raises one of the receiver's places by 1. Messages that wait for
/// the new value can then leave. A place therefore counts the segments that were added to the part
/// or stored in it.
struct FlowMessage {
  std::uint32_t to = 0;
  std::uint32_t place = 0;  ///< the receiver's counter that it raises
  double bytes = 0;
  std::uint32_t after = 0;  ///< leaves when the sender's counter `waits_at` has this value
  std::uint32_t waits_at = 0;
  std::uint32_t gate = 0;  ///< is counted when the receiver's counter `place` has this value
  double work = 0;         ///< s of a server's single CPU core before it is counted
};

/// Messages that a rank sends in this order, each when its dependencies allow.
struct FlowQueue {
  int from = 0;
  std::vector<FlowMessage> messages = {};
  /// The queue to `from` of which this queue is at most kFlowAhead bytes ahead; -1: unlimited
  /// (AllReduceStep::paced).
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

/// Returns the messages of an all-reduce of `elements` floats. Returns nothing if the collective
/// has no all-reduce, or if its messages are unknown (openmpi). @throws InputError as
/// check_collective
std::optional<FlowGraph> all_reduce_flows(const Spec& collective, std::size_t elements, int ranks);

/// Returns the messages of an all-gather likewise. @param sizes  of messages, in bytes, by rank
std::optional<FlowGraph> all_gather_flows(const Spec& collective,
                                          std::span<const std::size_t> sizes);

/// Returns the messages of a sparse all-reduce likewise, by SparseForm::flows.
std::optional<FlowGraph> sparse_flows(const Spec& collective, const SparseSizes& sizes, int ranks);

/// A unit as parameter servers exchange it. Sizes are of payloads, without their heads.
struct FlowUnit {
  int server = 0;
  double push = 0, pull = 0;  ///< bytes
  double decode = 0;          ///< s of a server for each worker's payload
  double compress = 0;        ///< s of a server for the answer
};

/// Returns the messages of workers and parameter servers. Workers are ranks 0 to workers - 1;
/// servers are the ranks after them. With `servers` = 0 every worker is also a server, and its
/// payloads to itself do not cross the network. A worker pushes its units in order, and a server
/// answers them in the same order. A server answers a unit when the payloads of all workers have
/// arrived and one CPU core has decoded them. The time to encode the answer is spread over the
/// unit's payloads. All payloads together are cut into about `most_messages` messages at most.
FlowGraph push_pull_flows(std::span<const FlowUnit> units, int workers, int servers,
                          double most_messages);

/// Collects the messages of an exchange that has phases, for all ranks, and cuts them into
/// segments. A rank sends its messages of a phase when all messages that it receives in earlier
/// phases have arrived.
class PhaseFlows {
 public:
  /// How a rank's messages of one phase leave.
  enum class Order {
    kOneByOne,  ///< in the order in which they were added
    kTurns,     ///< messages to different ranks take turns
  };
  PhaseFlows(int ranks, Order order);

  /// Begins a phase: later messages wait for all earlier messages to their sender.
  void begin_phase() { there_ = received_; }
  void send(int from, int to, std::size_t bytes);
  /// Adds the phases of Bruck's algorithm (BlockGather). @param blocks  sizes in bytes, by rank
  void gather_blocks(std::span<const std::size_t> blocks);

  FlowGraph take() { return std::move(graph_); }

 private:
  FlowQueue& queue(int from, int to);

  Order order_;
  int ranks_;
  FlowGraph graph_;
  std::vector<int> queues_;                      ///< by sender, or by sender and receiver; -1: none
  std::vector<std::uint32_t> received_, there_;  ///< segments, by rank
};

}  // namespace thinpipe
