// From a link's settings to the qdiscs of its interfaces, and one link of an emulated network: two
// interfaces that face each other, and what slows them down.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netem/link/link_spec.h"
#include "netem/link/netlink.h"
#include "netem/link/qdisc.h"

namespace thinpipe {

/// One thing to set at an interface, in order.
struct ShapingStep {
  bool is_class = false;
  TrafficHandle at;
  QdiscRequest request;
};
using Shaping = std::vector<ShapingStep>;

/// The qdiscs at the three places of one host's link. Where a frame passes several, it does so in
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

/// Traffic that crossed a link, in bytes and frames as its qdiscs counted.
struct LinkCounters {
  QdiscCounters up;    ///< away from the lower end (a host): the qdisc of its interface
  QdiscCounters down;  ///< towards it: the qdisc of the upper end (a switch's port)
  /// Between the two, where the way up is impaired or shaped at the upper end: its IFB; else zeros.
  QdiscCounters way_up;
  std::uint64_t drops() const { return up.drops + way_up.drops + down.drops; }
};

/// An interface and the namespace it is in.
struct LinkEnd {
  Netlink* netlink = nullptr;  ///< outlives the link
  std::string interface;
};

/// How many frames' worth the stack may hand over as one packet.
inline constexpr std::uint32_t kManySegments = 65535;  ///< GSO_LEGACY_MAX_SIZE: not limited
inline constexpr std::uint32_t kSingleFrames = 1;

/// The one place where a LinkSpec meets interfaces.
class ShapedLink {
 public:
  /// `up` of the spec is from `lower` to `upper`. `number` names its IFB and tells it apart from
  /// others that share a seed.
  ShapedLink(LinkEnd lower, LinkEnd upper, int number);

  /// Sets both directions anew: what waits in a queue is dropped, buckets are full and counters 0
  /// afterwards.
  /// @throws RunError when the kernel did not take it.
  void set(const LinkSpec& link, std::uint32_t segments);
  LinkCounters counters() const;
  /// Drift of the link's qdiscs since set(), in words: somebody changed them.
  std::vector<std::string> alterations() const;
  /// Which of its interfaces are down or gone, in words; "" when none is.
  std::string interruption() const;

  const std::string& lower_interface() const { return lower_.interface; }
  const std::string& upper_interface() const { return upper_.interface; }
  /// The IFB at the upper end, where the way up is impaired or shaped there; else "".
  std::string way_up_interface() const { return redirected_ ? way_up_ : ""; }

 private:
  void set_frames(std::uint32_t mtu, std::uint32_t segments);
  void set_way_up(const std::optional<Shaping>& shaping);

  LinkEnd lower_, upper_;
  LinkSpec link_;  // as set
  std::uint64_t stream_;
  std::string way_up_;       // the IFB's name
  bool redirected_ = false;  // arrivals at the upper end pass it
  std::uint32_t mtu_ = LinkSpec{}.mtu, segments_ = kManySegments;
};

}  // namespace thinpipe
