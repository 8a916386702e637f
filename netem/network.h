// An emulated network: hosts, switches and the links of a topology, as network namespaces.
//
// Example:
//
//   int ping_over_a_slow_link() {
//     return thinpipe::run_in_sandbox([](const thinpipe::Sandbox&) {
//       thinpipe::Network network(/*hosts=*/2);
//       network.set_links(thinpipe::parse_link_spec("rate=10mbit"));
//       thinpipe::HostProgram ping(network.host(0), {"ping", "-c3", network.data_address(1)});
//       return ping.wait(/*seconds=*/10);
//     });
//   }
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "netem/host.h"
#include "netem/link/netlink.h"
#include "netem/link/shaping.h"
#include "netem/topology/flows.h"
#include "netem/topology/spec.h"
#include "netem/topology/time_scale.h"

namespace thinpipe {

/// Lives in a sandbox and ends with it.
///
///   data:    host i, interface thin0, 198.18.0.(i+1)/16, over its switch to every other host
///   control: host i, interface ctl0,  198.19.0.(i+2)/16, not throttled, on a bridge in the
///            sandbox's first namespace, which is 198.19.0.1
///
/// Every switch is a namespace that forwards between the veth pairs of its links (198.18.255.(j+1),
/// by which it answers traceroute); Routes says which way. Forwarding rather than bridging, because
/// sites that are all joined to each other make loops, and because then a host's only neighbour is
/// its switch: hardware addresses are set once and no ARP crosses a measured link. A host's shaper
/// sits at the sender, where a full bucket pushes back on TCP instead of dropping, and at the
/// switch port, where several senders meet (tail drop); docs/links.md says where the rest of a link
/// is placed.
class Network {
 public:
  /// A star by default.
  /// @throws InputError when the topology cannot be made of so many hosts.
  explicit Network(int hosts, TopologySpec spec = {});
  ~Network();  ///< another can be made at once: what lingers is in nobody's way
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  int size() const { return static_cast<int>(hosts_.size()); }
  const Host& host(int index) const { return hosts_[static_cast<std::size_t>(index)]; }
  const Host& switch_at(int index) const { return switches_[static_cast<std::size_t>(index)]; }
  std::string data_address(int index) const;
  std::string control_address(int index) const;
  static constexpr const char* kDataNetwork = "198.18.0.0/16";
  static constexpr const char* kControlNetwork = "198.19.0.0/16";

  /// Sets every link of the topology anew, with `link` as TopologySpec::plan() has it: what waits
  /// in a queue is dropped, so call it between transfers. Buckets are full and counters 0
  /// afterwards.
  /// @throws InputError as plan() does; RunError when the kernel cannot do it (see
  /// require_kernel_features) or did not take it.
  /// @param time_scale  all links in slow motion, by this factor (netem/topology/time_scale.h)
  void set_links(const LinkSpec& link, double time_scale = 1) {
    set_topology(plan(link, time_scale));
  }
  /// The topology that set_links() would set.
  Topology plan(const LinkSpec& link, double time_scale = 1) const {
    return slowed(spec_.plan(size(), link), time_scale);
  }
  /// The same with a plan() in which links may have been changed.
  void set_topology(Topology planned);
  /// The topology as planned by the last set_links(). Before that no link is throttled.
  const Topology& topology() const { return topology_; }
  const Routes& routes() const { return routes_; }

  /// Counters of a link as Topology numbers them: 0 to size()-1 are the hosts', then the trunks.
  LinkCounters counters(int link) const;
  /// Qdiscs that no longer match set_links(), each with the link's name, in words; empty when
  /// nobody changed anything.
  std::vector<std::string> alterations() const;
  /// The two ends of a link (see ShapedLink): its interfaces, and the hosts or switches they are
  /// in.
  const ShapedLink& shaped(int link) const { return links_[static_cast<std::size_t>(link)]; }
  const Host& lower(int link) const;
  const Host& upper(int link) const;

  /// Changes by others to the interfaces of links, in words: "link host0: thin0 is down".
  std::vector<std::string> interruptions() const;

  /// The value of THINPIPE_HOSTS that thinpipe-enter needs.
  std::string enter_table() const;
  const std::map<std::string, std::string>& sysctls() const { return sysctls_; }

 private:
  std::string control_port(int host) const;
  void add_switch(int index);
  void add_host(int index);
  void add_trunk(int index);
  void add_routes();
  void set_tcp_buffers();

  TopologySpec spec_;
  Topology topology_;
  Routes routes_;
  Netlink control_;
  int generation_;  // tells the names in the sandbox's own namespace from those before
  std::string control_bridge_;
  std::vector<Host> switches_, hosts_;
  std::vector<std::unique_ptr<Netlink>> switch_netlinks_, host_netlinks_;
  std::vector<ShapedLink> links_;
  double tcp_window_ = 0;  // bytes that TCP's buffers were last widened to
  std::map<std::string, std::string> sysctls_;
};

/// Makes the hosts' names (host0, ...) known to every program of this sandbox that looks names up
/// in /etc/hosts. Must run in a sandbox, whose folder is `scratch`.
/// @returns false where /etc/hosts cannot be covered; names are then unknown, addresses work.
bool name_hosts(const Network& network, const std::string& scratch);

/// "host0=198.18.0.1 host1=198.18.0.2 ...".
std::string host_addresses(const Network& network);

}  // namespace thinpipe
