// How long an exchange takes on a star, by letting its messages cross one after the other; of
// patterns by name, with a memory of what was found.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compressors/spec.h"
#include "workloads/exchange/flow_graph.h"
#include "workloads/exchange/traffic.h"
#include "workloads/predict/closed_forms.h"

namespace thinpipe {

/// Time and load of an exchange.
struct FlowTime {
  double seconds = 0;  ///< until the last message is counted
  double bytes = 0;    ///< one way over the busiest port
  /// That waited before a receiver's port at some moment, at most: more than its queue holds is
  /// dropped.
  double waiting = 0;
};

/// Every rank has a port that lets through what it sends and one for what it receives, at the same
/// time, each a token bucket that has idled before: a byte takes beta, and `credit` bytes at once.
/// The queues of a rank take turns at its port, a message each, as a segment is handed down to the
/// qdisc as one packet; pieces of several senders come to a port in the order in which they left,
/// and wait there.
/// alpha passes between a message's last byte and its being counted.
/// @param ports    of each rank; or one, of all. A message has its sender's alpha
/// @param quantum  bytes of a piece, at least; messages are cut evenly
/// @throws std::logic_error where messages wait for each other in a circle
FlowTime flow_time(const FlowGraph& graph, std::span<const LinkFigures> ports, double quantum);

/// Every message of all ranks crosses the star (flow_time()). A shorter exchange of
/// kMostFlowMessages messages stands for one of more, and every byte more that the busiest port
/// carries takes beta: the pipeline is full by then.
class ExchangeTimes {
 public:
  static constexpr double kMostFlowMessages = 2000;

  /// Nothing where the pattern is no plan, or has so many ranks that even the shortest exchange
  /// takes too many messages. @throws InputError as check_pattern.
  std::optional<FlowTime> all_reduce(const Spec& pattern, std::size_t elements, int ranks,
                                     const LinkFigures& link);
  std::optional<FlowTime> all_gather(const Spec& pattern, const std::vector<std::size_t>& sizes,
                                     const LinkFigures& link);
  std::optional<FlowTime> sparse_all_reduce(const Spec& pattern, const SparseSizes& sizes,
                                            int ranks, const LinkFigures& link);
  /// @param servers  0: every worker is one @param links  of workers, then servers; or one, of all
  std::optional<FlowTime> push_pull(const std::vector<FlowUnit>& units, int workers, int servers,
                                    const std::vector<LinkFigures>& links);

 private:
  /// A graph, or a shorter one, and by how much the whole has more bytes.
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
  std::size_t kept_ = 0;  ///< messages in flows_
};

}  // namespace thinpipe
