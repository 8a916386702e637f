// Messages of an exchange: who sends what to whom, and what waits for what, which is all that its
// time depends on; and these messages of each pattern.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compressors/spec.h"
#include "workloads/exchange/traffic.h"

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

/// The messages of an all-reduce of so many floats; nothing where the pattern has none whose
/// messages are known (openmpi). @throws InputError as check_pattern.
std::optional<FlowGraph> all_reduce_flows(const Spec& pattern, std::size_t elements, int ranks);

/// Likewise of an all-gather of messages of so many bytes by rank.
std::optional<FlowGraph> all_gather_flows(const Spec& pattern, std::span<const std::size_t> sizes);

/// Likewise of a sparse all-reduce, as SparseForm::flows has it.
std::optional<FlowGraph> sparse_flows(const Spec& pattern, const SparseSizes& sizes, int ranks);

/// A unit as parameter servers exchange it. Sizes are of payloads, without their heads.
struct FlowUnit {
  int server = 0;
  double push = 0, pull = 0;  ///< bytes
  double decode = 0;          ///< s of a server for each worker's payload
  double compress = 0;        ///< s of a server for the answer
};

/// The messages of workers and parameter servers. Workers are ranks 0 to workers - 1, servers come
/// after them; with no servers every worker is one, and what it has of its own does not cross the
/// network. A worker pushes its units in order; a server answers each when all workers' payloads of
/// it have come and been decoded, in the same order, by one processor. The answer's encoding time
/// is spread over the payloads. Payloads are cut so that there are about `most_messages` of them at
/// most.
FlowGraph push_pull_flows(std::span<const FlowUnit> units, int workers, int servers,
                          double most_messages);

/// Collects messages of all ranks, cut into segments, of exchanges in phases: a rank sends what it
/// has when all that came in the phases before is there.
class PhaseFlows {
 public:
  /// How a rank's messages of one phase leave.
  enum class Order {
    kOneByOne,  ///< in the order in which they were added
    kTurns,     ///< those to different ranks take turns
  };
  PhaseFlows(int ranks, Order order);

  /// Messages sent from here on wait for all that their sender was sent before.
  void begin_phase() { there_ = received_; }
  void send(int from, int to, std::size_t bytes);
  /// Phases by Bruck's algorithm, of blocks of so many bytes by rank (BlockGather).
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
