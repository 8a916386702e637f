// Computes the time of an exchange between ranks on a star network, by simulating its messages.
// Results for named collectives are cached.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compressors/spec.h"
#include "workloads/collectives/flow_graph.h"
#include "workloads/collectives/traffic.h"
#include "workloads/predict/closed_forms.h"

namespace thinpipe {

/// Time and load of an exchange.
struct FlowTime {
  double seconds = 0;  ///< until the last message is complete
  double bytes = 0;    ///< in one direction over the busiest port
  /// Maximum number of bytes that wait at a receiver's port. A real queue drops what exceeds its
  /// length.
  double waiting = 0;
};

/// Simulates an exchange. Every rank has one port for its uplink and one for its downlink, which
/// work at the same time. Each port is a token bucket that was idle before: `credit` bytes pass at
/// once, and further bytes take beta each. The queues of a rank take turns at its port, one message
/// at a time, because a segment reaches the qdisc as one packet. Chunks of several senders queue at
/// a receiver's port in the order in which they left. alpha passes between a message's last byte
/// and its completion.
/// @param ports    one for each rank, or one for all. A message has its sender's alpha
/// @param quantum  minimum bytes of a chunk; messages are cut into equal chunks
/// @throws std::logic_error if messages wait for each other in a cycle
FlowTime flow_time(const FlowGraph& graph, std::span<const LinkFigures> ports, double quantum);

/// Computes the times of collectives by flow_time(), which simulates all messages of all ranks. An
/// exchange with more than kMaxFlowMessages messages is replaced by a shorter exchange. Every byte
/// that the shorter exchange lacks at the busiest port then adds beta, because the pipeline is full
/// by then.
class ExchangeTimes {
 public:
  static constexpr double kMaxFlowMessages = 2000;

  /// Returns nothing if the collective has no plan, or if there are so many ranks that even the
  /// shortest exchange has too many messages. @throws InputError as check_collective.
  std::optional<FlowTime> all_reduce(const Spec& collective, std::size_t elements, int ranks,
                                     const LinkFigures& link);
  std::optional<FlowTime> all_gather(const Spec& collective, const std::vector<std::size_t>& sizes,
                                     const LinkFigures& link);
  std::optional<FlowTime> sparse_all_reduce(const Spec& collective, const SparseSizes& sizes,
                                            int ranks, const LinkFigures& link);
  /// Returns whether push_pull() follows the messages of so many units.
  static bool follows(std::size_t units, int workers);
  /// @param servers  0: every worker is a server too
  /// @param links    of the workers, then of the servers; or one for all
  std::optional<FlowTime> push_pull(const std::vector<FlowUnit>& units, int workers, int servers,
                                    const std::vector<LinkFigures>& links);

 private:
  /// A graph, which may be shortened, and the factor by which the whole exchange has more bytes.
  struct Flows {
    FlowGraph graph;
    double longer = 1;
    double quantum = 0;
    std::map<std::vector<double>, FlowTime> times;  ///< by links
  };
  static FlowTime time_of(Flows& flows, std::span<const LinkFigures> links);
  static FlowTime time_of(Flows& flows, const LinkFigures& link) {
    return time_of(flows, std::span(&link, 1));
  }
  Flows& keep(std::string key, Flows flows);

  std::map<std::string, Flows> flows_;
  std::size_t kept_ = 0;  ///< number of messages in flows_
};

}  // namespace thinpipe
