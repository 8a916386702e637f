// Which time scale suits a point on this machine: `--time-scale auto`.
#pragma once

#include <string>

#include "netem/link_spec.h"
#include "netem/topology/topology.h"

namespace thinpipe {

/// What a machine that plays so many ranks can do.
struct Capacity {
  int cores = 1;
  int ranks = 2;
  int threads = 1;  ///< of each rank's codec
  /// bit/s of payload that one TCP flow carried from host to host over a link as fast as it goes
  /// (ceiling_link()); 0 where nothing was to be measured: one rank.
  double flow = 0;

  /// bit/s that every rank can receive while all send round a ring: a flow keeps two cores busy,
  /// its sender's and its receiver's.
  double per_rank() const;
};

struct TimeScaleChoice {
  double factor = 1;
  std::string why;       ///< for people: what decided
  bool refused = false;  ///< no factor gives true proportions; `why` says what stands against it
};

/// The smallest of 1, 2, 5, 10, 20 ... 1000 at which a link takes at most a quarter of what the
/// machine can bring each rank and every rank's codec can have as much of a core as on a machine of
/// its own. Never below 1: how long a codec takes is not known beforehand. Refused where no such
/// factor will do, and where a link loses or reorders frames and would have to be slowed down:
/// TCP's timers do not slow down with it.
TimeScaleChoice choose_time_scale(const LinkSpec& link, const Capacity& machine);
/// The same for a network: no rank is given more than its fastest link carries, and none of its
/// links may be one that must not be slowed down.
TimeScaleChoice choose_time_scale(const Topology& topology, const Capacity& machine);

/// What to measure Capacity::goodput over: the same qdiscs, which cost the same processor time,
/// with nothing that slows frames down.
LinkSpec ceiling_link(const LinkSpec& link);

}  // namespace thinpipe
