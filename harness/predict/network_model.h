// The network of a point as the cost models see it.
#pragma once

#include <vector>

#include "netem/topology/flows.h"
#include "netem/topology/spec.h"
#include "workloads/predict/link_figures.h"

namespace thinpipe {

/// What the machines at the ends of a link add to it.
struct MachineFigures {
  /// s that an empty message takes from rank to rank over a link without delay, all ranks sending
  double message_time = 0;
  /// by which bytes take longer than TCP's ceiling and the acknowledgements let expect
  double slower = 1;
};

/// Share by which acknowledgements of what comes lengthen what goes on the same link: one of 66
/// bytes every second frame, and as good as none where the bucket lets whole GSO packets through,
/// which the receiver acknowledges as one.
double acknowledgement_share(const LinkSpec& link);

/// A star of hosts with this link, every link carrying one flow each way.
LinkFigures star_figures(const LinkSpec& link, const MachineFigures& machine);

/// Any network while these flows cross it, all at once: beta of the slowest of them, which the
/// others wait for, alpha with the mean of their delays, since what goes round a ring has crossed
/// all of them.
LinkFigures network_figures(const Topology& topology, const std::vector<Flow>& flows,
                            const MachineFigures& machine);

/// Rank i to rank i+1, the last to the first.
std::vector<Flow> ring_flows(int ranks);

/// What ring exchanges of so many ranks find on that network. @throws InputError as plan()
LinkFigures ring_figures(const TopologySpec& topology, const LinkSpec& link, int ranks,
                         const MachineFigures& machine);

}  // namespace thinpipe
