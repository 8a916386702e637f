// Time dilation of links: computes a link that is slower by a factor. Measured with a clock that is
// slower by the same factor, it behaves like the requested link (time dilation factor, as in Gupta
// et al., NSDI 2006).
#pragma once

#include <string>
#include <vector>

#include "netem/link/link_spec.h"
#include "netem/topology/topology.h"

namespace thinpipe {

inline constexpr double kMinTimeScale = 1e-3, kMaxTimeScale = 1e3;

/// Returns the link that is slower by `factor`: divides rates by the factor, and multiplies delays
/// and jitter by it. Probabilities and values in bytes (queues, token-bucket depths) stay the same.
/// There is one exception: a factor below 1 raises the rate, and a default token bucket that is too
/// small for the new rate grows to default_burst() of that rate.
/// @throws InputError when a rate leaves the range from 1 kbit/s to 100 Gbit/s, or a delay or
/// jitter exceeds that of any link.
LinkSpec slowed(const LinkSpec& link, double factor);

/// Returns the topology with every link dilated. Links between switches are as in links_as_set().
/// @throws InputError naming the link that cannot be dilated so.
Topology slowed(Topology topology, double factor);

/// Returns warnings about effects that time dilation does not scale and that matter at this factor.
/// Without dilation (factor 1) there are none.
std::vector<std::string> time_scale_warnings(const LinkSpec& link, double factor);
/// Returns the warnings of all links of a topology, each once. Adds a warning about links without a
/// rate, which time dilation cannot slow down.
std::vector<std::string> time_scale_warnings(const Topology& topology, double factor);

}  // namespace thinpipe
