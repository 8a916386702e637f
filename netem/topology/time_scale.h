// Links in slow motion: what is set so that, by a clock that runs slower, it is the link asked for.
#pragma once

#include <string>
#include <vector>

#include "netem/link/link_spec.h"
#include "netem/topology/topology.h"

namespace thinpipe {

inline constexpr double kLeastTimeScale = 1e-3, kMostTimeScale = 1e3;

/// The link that takes `factor` times as long for everything: rates are divided by it, delays and
/// jitter multiplied. Bytes and shares of frames stay: queues, the buckets that the link would have
/// at its own rate, losses. Only a bucket too small for the rate that is set grows to
/// default_burst() of that, which happens with a factor below 1 and where the user gave none.
/// @throws InputError when a rate leaves 1 kbit/s to 100 Gbit/s.
LinkSpec slowed(const LinkSpec& link, double factor);

/// Every link of it, in the same way: links between switches as links_as_set() has them.
/// @throws InputError naming the link whose rate leaves that range.
Topology slowed(Topology topology, double factor);

/// Effects that do not slow down with the link and show at this factor, as sentences; none at 1.
std::vector<std::string> time_scale_warnings(const LinkSpec& link, double factor);
/// The same of all links of a topology, each once; and that links without a rate do not slow down.
std::vector<std::string> time_scale_warnings(const Topology& topology, double factor);

}  // namespace thinpipe
