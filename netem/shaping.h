// From a link's settings to the qdiscs of its interfaces.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "netem/link_spec.h"
#include "netem/netlink.h"
#include "netem/qdisc.h"

namespace thinpipe {

/// One thing to set at an interface, in order.
struct ShapingStep {
  bool is_class = false;
  TrafficHandle at;
  QdiscRequest request;
};
using Shaping = std::vector<ShapingStep>;

/// What stands at the three places of one host's link. Where a frame passes several, it does so in
/// this order; the kernel's default queue stays where there is nothing.
struct LinkShaping {
  Shaping host;  ///< the host's own interface: leaves it towards the switch
  std::optional<Shaping>
      way_up;    ///< an IFB that frames from the host pass when they reach the switch
  Shaping port;  ///< the switch's port: leaves it towards the host
};

/// The shaper is the root and netem its only child: netem holds back what is on its way, and what
/// waits for the shaper waits in netem. Without a rate, or with shaper=netem, netem is alone;
/// without anything, a FIFO counts. The delay of the way up is in the IFB, where frames arrive,
/// because TCP stops sending when its own interface holds too much (TSQ). `stream` tells apart the
/// hosts that share a seed.
LinkShaping shaping_of(const LinkSpec& link, std::uint64_t stream = 0);

/// The seed of netem's random numbers in one direction of the link of that stream; none if the link
/// has none.
std::optional<std::uint64_t> netem_seed(const LinkSpec& link, std::uint64_t stream, bool up);

/// Replaces what is at the interface; every step is read back.
void install(Netlink& netlink, const std::string& interface, const Shaping& shaping);

/// Reads all of it back: what the kernel has otherwise now, in words.
std::vector<std::string> differences(Netlink& netlink, const std::string& interface,
                                     const Shaping& shaping);

/// Frames netem must be able to hold: rate times delay in full frames, and the queue. Without a
/// rate, what 100 Gbit/s bring.
std::uint32_t netem_limit(const Direction& direction, std::uint32_t frame_bytes);

}  // namespace thinpipe
