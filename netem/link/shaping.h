// Maps a link's settings to the qdiscs of its interfaces. Also defines one link of an emulated
// network: two connected interfaces with their shapers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "netem/link/link_spec.h"
#include "netem/link/netlink.h"
#include "netem/link/qdisc.h"

namespace thinpipe {

/// One qdisc or class to set on an interface. The steps are applied in order.
struct ShapingStep {
  TrafficHandle at;
  QdiscRequest request;
};
using Shaping = std::vector<ShapingStep>;

/// The qdiscs of one host's link, in the order in which a frame passes them. An interface without
/// steps keeps the kernel's default qdisc.
struct LinkShaping {
  Shaping host;                   ///< egress of the host's interface, towards the switch
  std::optional<Shaping> uplink;  ///< an IFB on ingress of the switch's port
  Shaping port;                   ///< egress of the switch's port, towards the host
};

/// Returns the qdiscs of a link. If an interface has a shaper and netem, the shaper is the root and
/// netem its only child, so frames wait in netem both for the end of their delay and for the
/// shaper. Without a rate, or with shaper=netem, netem is the root. An interface without settings
/// gets a bfifo, for its counters.
///
/// An uplink's netem is on an IFB at the receiving end. On the sender's interface, TCP limits the
/// bytes that wait (TCP small queues), so TCP would send less if delayed frames waited there.
/// @param stream  gives links that share a seed different random numbers
LinkShaping shaping_of(const LinkSpec& link, std::uint64_t stream = 0);

/// Returns the seed of netem's random numbers in one direction of a stream's link; nullopt if the
/// link has no seed.
std::optional<std::uint64_t> netem_seed(const LinkSpec& link, std::uint64_t stream, bool up);

/// Replaces the interface's qdiscs and reads every step back.
void install(Netlink& netlink, const std::string& interface, const Shaping& shaping);

/// Reads the interface's qdiscs back and returns how they differ from `shaping`, in words.
std::vector<std::string> differences(Netlink& netlink, const std::string& interface,
                                     const Shaping& shaping);

/// Returns netem's queue limit in frames, at most 4 million. It is the number of full frames that
/// the rate delivers in the delay plus 4 times the jitter, plus those that fit into the queue.
/// Without a rate, assumes 100 Gbit/s and returns at least 1000.
std::uint32_t netem_limit(const Direction& direction, std::uint32_t frame_bytes);

/// Traffic that crossed a link, in bytes and frames as its qdiscs count.
struct LinkCounters {
  QdiscCounters up;    ///< uplink: root qdisc of the lower end (a host's interface)
  QdiscCounters down;  ///< downlink: root qdisc of the upper end (a switch's port)
  /// The uplink's IFB, if the uplink is impaired or shaped at the upper end; else zeros.
  QdiscCounters uplink;
  std::uint64_t drops() const { return up.drops + uplink.drops + down.drops; }
};

/// An interface and its network namespace.
struct LinkEnd {
  Netlink* netlink = nullptr;  ///< outlives the link
  std::string interface;
};

/// The most frames that the stack may pass on as one GSO packet.
inline constexpr std::uint32_t kManySegments = 65535;  ///< GSO_LEGACY_MAX_SIZE: not limited
inline constexpr std::uint32_t kSingleFrames = 1;

/// Applies a LinkSpec to two connected interfaces.
class ShapedLink {
 public:
  /// Takes the two ends of the link. A LinkSpec's uplink is the direction from `lower` to `upper`.
  /// @param number  names the IFB, and gives links that share a seed different random numbers
  ShapedLink(LinkEnd lower, LinkEnd upper, int number);

  /// Sets both directions anew. Drops queued frames. Afterwards token buckets are full and counters
  /// are 0.
  /// @param segments  kManySegments or kSingleFrames
  /// @throws RunError when the kernel refuses or changes a setting.
  void set(const LinkSpec& link, std::uint32_t segments);
  LinkCounters counters() const;
  /// Returns the settings of the link's qdiscs that have changed since set() (drift), in words.
  std::vector<std::string> drift() const;
  /// Returns which of the link's interfaces are down or gone, in words; "" if none is.
  std::string interruption() const;

  const std::string& lower_interface() const { return lower_.interface; }
  const std::string& upper_interface() const { return upper_.interface; }
  /// Returns the IFB at the upper end, if the uplink is impaired or shaped there; else "".
  std::string uplink_interface() const { return redirected_ ? uplink_ : ""; }

 private:
  void set_frames(std::uint32_t mtu, std::uint32_t segments);
  void set_uplink(const std::optional<Shaping>& shaping);

  LinkEnd lower_, upper_;
  LinkSpec link_;  // of the last set()
  std::uint64_t stream_;
  std::string uplink_;       // the IFB's name
  bool redirected_ = false;  // the upper end's ingress is redirected to the IFB
  std::uint32_t mtu_ = LinkSpec{}.mtu, segments_ = kManySegments;
};

}  // namespace thinpipe
