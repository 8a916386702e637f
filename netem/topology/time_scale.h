// Time dilation of links (Gupta et al., NSDI 2006): computes a link that is slower by a factor. A
// clock that is slower by the same factor measures on this link the times of the requested link.
#pragma once

#include <string>
#include <vector>

#include "netem/link/link_spec.h"
#include "netem/topology/topology.h"

namespace thinpipe {

inline constexpr double kMinTimeScale = 1e-3, kMaxTimeScale = 1e3;

/// Returns the link that is slower by `factor`: divides rates by the factor, and multiplies delays
/// and jitter by it. Rates are rounded to whole bytes/s. Probabilities and values in bytes (queues,
/// token-bucket depths) stay the same. There is one exception: a factor below 1 raises the rate,
/// and a default token bucket that is too small for it grows to default_burst() of the new rate.
/// @throws InputError when a rate leaves the range from 1 kbit/s to 100 Gbit/s, a delay exceeds
/// 100 s (kLongestLinkDelay) or a jitter 2 s (kLongestLinkJitter).
LinkSpec slowed(const LinkSpec& link, double factor);

/// Returns the topology with slowed() links; trunks pass through as_trunk() first. A factor of 1
/// changes nothing. @throws InputError naming the link whose settings leave these ranges.
Topology slowed(Topology topology, double factor);

/// Returns warnings about effects that time dilation does not scale and that matter at this factor.
/// Without dilation (factor 1) there are none.
std::vector<std::string> time_scale_warnings(const LinkSpec& link, double factor);
/// Returns the warnings of all links of a topology, each once. Adds a warning about links without a
/// rate, which time dilation cannot slow down.
std::vector<std::string> time_scale_warnings(const Topology& topology, double factor);

}  // namespace thinpipe
