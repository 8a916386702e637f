// Applies a schedule to the links of a topology: which links change, and how.
#pragma once

#include <vector>

#include "netem/schedule/schedule.h"
#include "netem/topology/topology.h"

namespace thinpipe {

/// A link that changes.
struct ScheduledLink {
  int link = 0;       ///< index of the link in Topology
  LinkSpec own;       ///< its settings without the schedule, as in links_as_set()
  Schedule up, down;  ///< of the two directions
  /// True if the schedule changes the delay or the loss: on the downlink of a host's link, or in
  /// both directions of a trunk.
  bool changes_impairment = false;
  bool is_trunk = false;
};

/// Returns a direction's own state, without a schedule.
LinkState state_of(const Direction& direction);

/// Returns the links that the schedule changes. A part without a link's name applies to every link
/// with a rate. A part with a link's name replaces, on that link, the parts of the same quantity
/// (rate, delay or loss). If two parts name a link, the later one counts. A name may end in `.up`
/// or `.down`, for one direction. `up` and `down` alone name that direction of every link with a
/// rate.
/// @throws InputError for an unknown link, or when the schedule does not fit a link: a link without
/// a rate, rates out of range, or burst loss.
std::vector<ScheduledLink> scheduled_links(const Topology& topology, const ScheduleSpec& schedule);

/// Returns links that need the same kernel features as playing the schedule (HTB; netem if a delay
/// or loss changes), for require_kernel_features().
std::vector<LinkSpec> links_as_played(const std::vector<ScheduledLink>& links);

}  // namespace thinpipe
