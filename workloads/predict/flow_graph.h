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

/// The messages of an all-reduce of so many floats; nothing where the pattern is no plan (openmpi)
/// or has no all-reduce of its own. @throws InputError as check_pattern.
std::optional<FlowGraph> all_reduce_flows(const Spec& pattern, std::size_t elements, int ranks);

/// Likewise of an all-gather of messages of so many bytes by rank.
std::optional<FlowGraph> all_gather_flows(const Spec& pattern, std::span<const std::size_t> sizes);

/// Messages that an all-reduce has where no part is longer than a segment: at least so many there
/// are. 0 where there are no flows.
double least_messages(const Spec& pattern, int ranks);

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
/// it have come and been decoded, in the same order, by one processor. What the answer's encoding
/// takes is spread over the payloads. Payloads are cut so that there are about `most_messages` of
/// them at most.
FlowGraph push_pull_flows(std::span<const FlowUnit> units, int workers, int servers,
                          double most_messages);

/// The messages of sparse all-reduces with re-selection. gtopk: what goes up and down the tree,
/// each message with the pairs that its subtree may have at most: min(k, the sum of those it
/// brings), as if no two ranks chose the same place. oktopk: indices and what is selected spread
/// evenly over ranks, `selected` pairs in all; a call that finds neither regions nor a threshold
/// anew. Nothing for other patterns.
/// @throws InputError as check_pattern.
std::optional<FlowGraph> sparse_flows(const Spec& pattern, const SparseSizes& sizes, int ranks);

/// The messages of qgZ: within groups, between them, and Bruck's all-gather.
/// @throws InputError as check_pattern.
FlowGraph qgz_flows(const Spec& pattern, std::size_t elements, int ranks);

}  // namespace thinpipe
