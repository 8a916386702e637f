// A star: every host has one throttled link to a switch, and an unthrottled one for control.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "netem/host.h"
#include "netem/link_spec.h"
#include "netem/netlink.h"
#include "netem/shaping.h"

namespace thinpipe {

/// What crossed one host's throttled link, in bytes and frames as its two qdiscs counted.
struct LinkCounters {
  QdiscCounters up;    ///< host to switch: the qdisc of the host's own interface
  QdiscCounters down;  ///< switch to host: the qdisc of the switch's port
  /// Between the two, where the way up is impaired or shaped at the switch: its IFB; else zeros.
  QdiscCounters way_up;
};

/// Lives in a sandbox, whose first network namespace is the switch; ends with it.
///
///   data:    host i, interface thin0, 198.18.0.(i+1)/16, shaped in both directions
///   control: host i, interface ctl0,  198.19.0.(i+2)/16, not throttled; the switch is 198.19.0.1
///
/// The shaper sits before each end: at the sender, where a full bucket pushes back on TCP instead
/// of dropping, and at the switch port, where several senders meet (tail drop). docs/links.md says
/// where the rest of a link is placed.
class Star {
 public:
  explicit Star(int hosts);

  int size() const { return static_cast<int>(hosts_.size()); }
  const Host& host(int index) const { return hosts_[static_cast<std::size_t>(index)]; }
  std::string data_address(int index) const;
  std::string control_address(int index) const;
  static constexpr const char* kDataNetwork = "198.18.0.0/16";
  static constexpr const char* kControlNetwork = "198.19.0.0/16";

  /// Sets every host's link, both directions, anew: what waits in a queue is dropped, so call it
  /// between transfers. Buckets are full and counters 0 afterwards.
  /// @throws RunError when the kernel cannot do it (see require_kernel_features) or did not take
  /// it.
  void set_links(const LinkSpec& link);
  /// The same with a link of each host's own, in their order.
  void set_links(const std::vector<LinkSpec>& links);
  LinkCounters counters(int index);

  /// The value of THINPIPE_HOSTS that thinpipe-enter needs.
  std::string enter_table() const;
  const std::map<std::string, std::string>& sysctls() const { return sysctls_; }

 private:
  struct Frames {  // of one host's interfaces, as they are set now
    std::uint32_t mtu = 0, segments = 0;
    bool operator==(const Frames&) const = default;
  };

  void set_link(int index, const LinkSpec& link, Frames frames);
  void set_way_up(int index, const std::optional<Shaping>& shaping, Frames frames);
  void set_tcp_buffers(const std::vector<LinkSpec>& links);

  std::vector<Host> hosts_;
  std::vector<Frames> frames_;
  std::vector<bool> redirected_;  // arrivals at the port pass the host's IFB
  double tcp_window_ = 0;         // bytes that TCP's buffers were last widened to
  Netlink switch_;
  std::vector<std::unique_ptr<Netlink>> host_netlinks_;
  std::map<std::string, std::string> sysctls_;
};

}  // namespace thinpipe
