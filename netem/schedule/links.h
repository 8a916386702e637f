// Which links of a topology a schedule changes, and how each of them.
#pragma once

#include <vector>

#include "netem/schedule/schedule.h"
#include "netem/topology/topology.h"

namespace thinpipe {

/// A link that changes.
struct ScheduledLink {
  int link = 0;       ///< as Topology numbers them
  LinkSpec own;       ///< what it is set to, see links_as_set()
  Schedule up, down;  ///< of its two directions
  /// Its delay changes, or its loss. A host's link has them on the downlink, a trunk both ways.
  bool changes_way = false;
};

/// A part without a link's name holds for every link that has a rate. A part with a name replaces
/// those of the same quantity; of two names of one link the later holds. A name may end in `.up` or
/// `.down`, for that direction alone; `up` and `down` are those of every link that has a rate.
/// @throws InputError when a name is that of no link, or the schedule does not fit a link: without
/// a rate, rates beyond what links can be set to, losses in bursts.
std::vector<ScheduledLink> scheduled_links(const Topology& topology, const ScheduleSpec& schedule);

/// Links that need of the kernel what playing the schedule on these does (HTB; netem where a delay
/// or loss changes), for require_kernel_features().
std::vector<LinkSpec> links_as_played(const std::vector<ScheduledLink>& links);

}  // namespace thinpipe
