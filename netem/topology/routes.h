// Which way frames take through the switches.
#pragma once

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

}  // namespace thinpipe
