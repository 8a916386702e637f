// A star: every host has one throttled link to a switch, and an unthrottled one for control.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "netem/host.h"
#include "netem/link_spec.h"
#include "netem/netlink.h"

namespace thinpipe {

/// What crossed one host's throttled link, in bytes and frames as its two qdiscs counted.
struct LinkCounters {
  QdiscCounters up;    ///< host to switch: the qdisc of the host's own interface
  QdiscCounters down;  ///< switch to host: the qdisc of the switch's port
};

/// Lives in a sandbox, whose first network namespace is the switch; ends with it.
///
///   data:    host i, interface thin0, 198.18.0.(i+1)/16, TBF in both directions
///   control: host i, interface ctl0,  198.19.0.(i+2)/16, not throttled; the switch is 198.19.0.1
///
/// The TBF sits before each end: at the sender, where a full bucket pushes back on TCP instead of
/// dropping, and at the switch port, where several senders meet (tail drop).
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
  void set_links(const LinkSpec& link);
  LinkCounters counters(int index);

  /// The value of THINPIPE_HOSTS that thinpipe-enter needs.
  std::string enter_table() const;
  const std::map<std::string, std::string>& sysctls() const { return sysctls_; }

 private:
  std::vector<Host> hosts_;
  Netlink switch_;
  std::vector<std::unique_ptr<Netlink>> host_netlinks_;
  std::map<std::string, std::string> sysctls_;
};

}  // namespace thinpipe
