// How long one exchange of a pattern takes on a star, from its messages; remembers what it found.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compressors/spec.h"
#include "workloads/exchange/cost/sparse_traffic.h"
#include "workloads/predict/flow_time.h"
#include "workloads/predict/push_pull_flows.h"

namespace thinpipe {

/// Every message of all ranks crosses the star (flow_time()). Of exchanges with more than
/// kMostFlowMessages messages a shorter one of as many does, and every byte more that the busiest
/// port carries takes beta: the pipeline is full by then.
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
