// A step that is to be simulated: times, payload sizes, and the network, as plain data. Nothing
// here needs SimGrid.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compressors/spec.h"
#include "workloads/collectives/collective.h"
#include "workloads/predict/exchange_work.h"
#include "workloads/predict/pipeline.h"

namespace thinpipe {

/// One direction of a link.
struct SimulatedLink {
  double rate = 0;    ///< payload bytes a second; 0: not throttled
  double delay = 0;   ///< s
  double credit = 0;  ///< payload bytes that pass at once after the link was idle (token bucket)
};

struct SimulatedNetwork {
  int hosts = 1;
  /// Link 2i is host i's uplink and link 2i+1 its downlink; links between switches follow.
  std::vector<SimulatedLink> links = {};
  /// Returns the links that a message crosses, in order. Null for a star, in which a message
  /// crosses the sender's uplink and the receiver's downlink.
  std::function<std::vector<int>(int from, int to)> path = {};
  double message_time = 0;  ///< s of an empty message beyond the links' delays
};

/// Tensors that are exchanged together; times of one rank in s.
struct SimulatedBucket {
  double ready = 0;  ///< after its compute's begin, on a rank that computes SimulatedWork::compute
  double compress = 0, decode = 0;
  double dimension = 0;  ///< elements of all tensors together
  std::vector<ExchangeWork> exchanges = {};
};

struct SimulatedWork {
  int ranks = 1;  ///< workers; servers, if the collective has any, are on the hosts after them
  Spec collective = {};
  PipelineKind kind = PipelineKind::kSerial;
  double compute = 0;  ///< s, to which the buckets' `ready` belong
  std::vector<SimulatedBucket> buckets = {};
  std::vector<std::vector<double>> steps = {};   ///< s of each rank's compute, by step
  std::vector<std::vector<double>> stalls = {};  ///< their begin, in which a rank stalls; or empty
};

/// One rank's times in one step, in s.
struct SimulatedRankStep {
  double total = 0, compute = 0, compress = 0, exchange = 0, decode = 0, exposed = 0, link_idle = 0;
  double sent_bytes = 0, sent_messages = 0;
  /// For which the busiest link, at its rate, carries the bytes of all ranks. Each simulated step
  /// begins with full token buckets, so `total` may be shorter. Steps that follow one another are
  /// not, because the buckets refill at the links' rates.
  double carried = 0;
};

/// By step, then by rank.
using SimulatedSteps = std::vector<std::vector<SimulatedRankStep>>;

/// With more ranks, all messages have the same length, the mean, and share their memory.
inline constexpr int kMaxUnfoldedRanks = 64;

/// Returns whether the operation's messages depend on each other's contents. If they do not, their
/// lengths and first bytes suffice.
bool needs_contents(const Spec& collective, Exchange operation);

/// Returns why the collective's operation cannot be simulated on so many ranks; "" if it can.
std::string why_not_simulated(const Spec& collective, Exchange operation, int ranks);

}  // namespace thinpipe
