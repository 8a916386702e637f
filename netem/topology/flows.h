// Routes through the switches, the rate and delay of a path, and the fair rates of competing flows.
#pragma once

#include <cstdint>
#include <vector>

#include "netem/topology/topology.h"

namespace thinpipe {

/// A link and the direction in which a path crosses it.
struct Hop {
  int link = 0;    ///< index of the link in Topology
  bool up = true;  ///< host to switch, or a to b of a trunk
  bool operator==(const Hop&) const = default;
};

/// Shortest paths between hosts, by the number of trunks, which are links between switches. Ties go
/// to the path whose highest trunk index is lowest, then to the one whose second highest index is
/// lowest, and so on. Forward and reverse paths are the same.
class Routes {
 public:
  /// Computes the routes of a topology, which must outlive this object.
  explicit Routes(const Topology& topology);

  /// Returns the trunk (index into Topology::trunks) on which switch `from` forwards to switch
  /// `to`; -1 if both are the same or not connected.
  int next_trunk(int from, int to) const;
  /// Returns the path from one host to another, including both access links. The hosts' switches
  /// must be connected.
  std::vector<Hop> path(int from_host, int to_host) const;
  /// Checks that a path connects every two switches. @throws InputError naming two without a path.
  void check_connected() const;

 private:
  const Topology& topology_;
  std::vector<std::vector<int>> next_;  ///< next_[to][from]
};

/// Returns the rate of one direction in bit/s on the wire; 0: not throttled.
double rate_of(const LinkSpec& link, bool up);

/// Returns `link` as a trunk: an `up` without impairments gets those of `down`. On a host's link,
/// impairments without a direction are on the downlink only, because a frame between two hosts
/// crosses one uplink and one downlink. A frame crosses a trunk only once.
LinkSpec as_trunk(const LinkSpec& link);

/// A flow between two hosts.
struct Flow {
  int from = 0, to = 0;
};

/// Figures of a path without competing flows.
struct PathFigures {
  double rate = 0;         ///< bit/s on the wire of the bottleneck link; 0: no link is throttled
  double goodput = 0;      ///< highest TCP goodput in bit/s of payload; 0 likewise
  double delay = 0;        ///< one-way delay in s, without queueing and transmission
  double queue = 0;        ///< sum of the throttled links' queue limits in bytes
  std::uint32_t mtu = 0;   ///< the smallest MTU of its links
  int narrowest = -1;      ///< bottleneck link, the first of several; -1: no link is throttled
  bool disturbed = false;  ///< frames may be disturbed (Impairment::disturbs)
  /// Direction::overhead of the bottleneck link, in bytes.
  std::uint32_t overhead = 0;
};
PathFigures figures_of(const Topology& topology, const std::vector<Hop>& path);

/// Returns the bits of payload that a pure ACK displaces on the bottleneck link of a path. The path
/// needs a throttled link.
double payload_of_ack(const PathFigures& path);

/// Returns true if the bottleneck of a path is its sender's own uplink and is shaped at the sender,
/// where a full queue pushes back on TCP. All other bottlenecks drop the frames that exceed their
/// queue.
bool limited_at_sender(const Topology& topology, const std::vector<Hop>& path);

/// Returns the RTT between a flow's hosts in s, without queueing and transmission.
double round_trip_of(const Topology& topology, const Routes& routes, const Flow& flow);

/// Returns the rate of each flow in bit/s on the wire when all flows send at once and compete
/// fairly (max-min fairness, by progressive filling: Bertsekas and Gallager, Data Networks, 6.5.2).
/// 0 for a flow that crosses no throttled link.
std::vector<double> fair_rates(const Topology& topology,
                               const std::vector<std::vector<Hop>>& flows);
/// Returns fair_rates() as TCP goodput, in bit/s of payload.
std::vector<double> fair_goodputs(const Topology& topology,
                                  const std::vector<std::vector<Hop>>& flows);

/// Returns the highest goodput of a host, in bit/s of payload summed over its flows, at which every
/// host can send to all others at the same time; 0 if no link is throttled. With more than 64
/// hosts, returns the slowest path's goodput instead.
double exchange_goodput(const Topology& topology);
/// Returns the settings of all links: of the hosts' links, then of the trunks, by as_trunk().
std::vector<LinkSpec> links_as_set(const Topology& topology);
/// Returns true if any link may disturb frames (Impairment::disturbs).
bool disturbs(const Topology& topology);

/// Returns the longest RTT between two hosts in s, without queueing and transmission.
double longest_round_trip(const Topology& topology);

}  // namespace thinpipe
