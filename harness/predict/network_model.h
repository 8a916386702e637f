// The network of a point as the cost models see it, and what its machines were measured to add.
#pragma once

#include <cstddef>
#include <vector>

#include "netem/topology/flows.h"
#include "netem/topology/spec.h"
#include "workloads/predict/closed_forms.h"

namespace thinpipe {

class Launch;

/// Overhead of the machines at the ends of a link.
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

/// Figures of ring exchanges of so many ranks on that network. @throws InputError as plan()
LinkFigures ring_figures(const TopologySpec& topology, const LinkSpec& link, int ranks,
                         const MachineFigures& machine);

/// The messages to send: an exchange of some 50 ms, and several times what buckets save up.
std::size_t probe_bytes(const LinkFigures& expected, int ranks);

/// From what every rank measured (small[rank][i], large[rank][i]: seconds of the i-th exchange):
/// message_time beside the delay that the link is known to have, and by how much bytes are slower
/// than they should, so that the model of the ring's all-gather gives the shortest of the large
/// ones, which others on the machine held up least.
MachineFigures machine_figures(const std::vector<std::vector<double>>& small,
                               const std::vector<std::vector<double>>& large, std::size_t bytes,
                               const LinkFigures& expected);

/// Asks the ranks for alpha and beta of the links in force. @param expected  what the link should
/// be without machines, as it is set
/// @throws RunError as Launch::ask()
MachineFigures probe_links(Launch& launch, const LinkFigures& expected);

/// Cost of a message to the machine itself, in s: 8 bytes from one thread to another by the
/// loopback interface, half of the median of 200 round trips. Takes some milliseconds. @throws
/// SystemError
double loopback_message_time();

}  // namespace thinpipe
