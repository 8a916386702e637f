// Which way frames take through the switches, the rate and the delay of a path, and the shares of
// flows that meet.
#pragma once

#include <cstdint>
#include <vector>

#include "netem/topology/topology.h"

namespace thinpipe {

/// A link and the direction in which it is crossed.
struct Hop {
  int link = 0;    ///< as Topology numbers them
  bool up = true;  ///< host to switch, or a to b of a trunk
  bool operator==(const Hop&) const = default;
};

/// Fewest trunks; of ways as long the one whose trunks come first in the topology. The way back is
/// the same way.
class Routes {
 public:
  explicit Routes(const Topology& topology);

  /// The trunk (index into Topology::trunks) on which switch `from` sends to switch `to`; -1 when
  /// there is none: they are the same, or not connected.
  int next_trunk(int from, int to) const;
  /// From one host to another, both access links included.
  std::vector<Hop> path(int from_host, int to_host) const;
  /// @throws InputError naming two switches with no way between them.
  void check_connected() const;

 private:
  const Topology& topology_;
  std::vector<std::vector<int>> next_;  ///< next_[to][from]
};

/// bit/s on the wire of one direction; 0: not throttled.
double rate_of(const LinkSpec& link, bool up);

/// A link as it is between switches. A host's link applies delay, loss and the like once, on the
/// downlink, unless `up` has its own: a frame between two hosts goes up once and down once. It
/// crosses a trunk in one direction only, so both directions of a trunk have them.
LinkSpec as_trunk(const LinkSpec& link);

/// From one host to another.
struct Flow {
  int from = 0, to = 0;
};

/// A path on its own, nothing else on its links.
struct PathFigures {
  double rate = 0;         ///< bit/s on the wire of the narrowest link; 0: none is throttled
  double goodput = 0;      ///< bit/s of payload that TCP can deliver at most; 0 likewise
  double delay = 0;        ///< s, one way, without queues and transmission
  double queue = 0;        ///< bytes that may wait on it
  std::uint32_t mtu = 0;   ///< the least of its links
  int narrowest = -1;      ///< link; the first of several; -1 when none is throttled
  bool disturbed = false;  ///< frames may be lost, doubled, damaged or overtake each other
};
PathFigures figures_of(const Topology& topology, const std::vector<Hop>& path);

/// The rate of each flow, in bit/s on the wire, when all send at once and share every link fairly
/// (max-min fairness, by progressive filling: Bertsekas and Gallager, Data Networks, 6.5.2). 0 for
/// a flow that no throttled link holds back.
std::vector<double> fair_rates(const Topology& topology,
                               const std::vector<std::vector<Hop>>& flows);

/// bit/s of payload that every host can send at once to all others together, at most; 0 when no
/// link is throttled. With more than 64 hosts: what the slowest path has.
double exchange_goodput(const Topology& topology);
/// The links as they are set, hosts' first (see as_trunk).
std::vector<LinkSpec> links_as_set(const Topology& topology);
/// Some link loses, doubles, damages or reorders frames.
bool disturbs(const Topology& topology);

/// The longest round trip between two hosts, in s, without queues and transmission.
double longest_round_trip(const Topology& topology);

}  // namespace thinpipe
