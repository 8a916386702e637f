// The parameters of a point's network for the cost models, and the measured overhead of its
// machines.
#pragma once

#include <cstddef>
#include <vector>

#include "netem/topology/flows.h"
#include "netem/topology/spec.h"
#include "workloads/predict/exchange_time.h"

namespace thinpipe {

class Launch;

/// Overhead of the machines at the ends of a link.
struct MachineFigures {
  /// s of an empty message from rank to rank over a link without delay, while all ranks send
  double message_time = 0;
  /// factor on the time of a byte over that of TCP's ceiling with acknowledgements
  double slower = 1;
};

/// Returns the fraction by which acknowledgements of received data lengthen the time of sent data
/// on the same link: 66 bytes for every second frame, and about 0 where the token bucket passes
/// whole GSO packets, which the receiver acknowledges as one.
double acknowledgement_share(const LinkSpec& link);

/// Returns alpha, beta and credit (LinkFigures) of a star of hosts, each of which has such a link,
/// with one flow in each direction of every link.
LinkFigures star_figures(const LinkSpec& link, const MachineFigures& machine);

/// Returns alpha, beta and credit of one direction of a link, with one flow in each direction and
/// without a machine's overhead. Beta is 0 if the direction is not throttled.
LinkFigures direction_figures(const LinkSpec& link, bool up);

/// Returns alpha, beta and credit of any network that all these flows cross at the same time. Beta
/// is that of the slowest flow, because the other flows wait for it. Alpha has the mean of the
/// flows' delays, because data that go round a ring cross all of them.
LinkFigures network_figures(const Topology& topology, const std::vector<Flow>& flows,
                            const MachineFigures& machine);

/// Returns the flows from rank i to rank i+1, and from the last to the first.
std::vector<Flow> ring_flows(int ranks);

/// Returns the figures of ring exchanges of `ranks` ranks on that network. @throws InputError as
/// plan()
LinkFigures ring_figures(const TopologySpec& topology, const LinkSpec& link, int ranks,
                         const MachineFigures& machine);

/// Returns the size in bytes of a probe message. An exchange of such messages sends what the links
/// carry in about 50 ms, plus several times the token buckets' credit.
std::size_t probe_bytes(const LinkFigures& expected, int ranks);

/// Returns the machines' overhead from all ranks' measurements (small[rank][i], large[rank][i]:
/// seconds of the i-th exchange). message_time is the time of a message beyond the link's known
/// delay. `slower` is chosen so that the model of the ring's all-gather predicts the time of the
/// shortest large exchange. Other programs on the machine disturbed that exchange least.
MachineFigures machine_figures(const std::vector<std::vector<double>>& small,
                               const std::vector<std::vector<double>>& large, std::size_t bytes,
                               const LinkFigures& expected);

/// Has the ranks measure alpha and beta of the links in force. @param expected  figures of the link
/// as set, without the machines' overhead
/// @throws RunError as Launch::ask()
MachineFigures probe_links(Launch& launch, const LinkFigures& expected);

/// Returns the time in s of a message within this machine: 8 bytes from one thread to another over
/// the loopback interface. It is half of the median of 200 round trips. Takes some milliseconds.
/// @throws SystemError
double loopback_message_time();

}  // namespace thinpipe
