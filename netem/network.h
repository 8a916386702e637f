// An emulated network: the hosts, switches and links of a topology, built from network namespaces.
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

/// The network must be built in a sandbox, and ends with it. Every host has two interfaces:
///
///   data:    thin0, 198.18.0.(i+1)/16 on host i, over the host's switch to every other host
///   control: ctl0,  198.19.0.(i+2)/16 on host i, not throttled, on a bridge in the sandbox's
///            first namespace; the bridge is 198.19.0.1
///
/// The third byte counts on after every 250 addresses: host 250 has the data address 198.18.1.1.
///
/// Switch j is a namespace that routes between the veth pairs of its links, as Routes says. Its
/// address 198.18.255.(j+1) answers traceroute. Switches route instead of bridging for two reasons.
/// In fully meshed sites, bridges would form loops. With routes, a host's only neighbour is its
/// switch, so neighbour entries are set once, and no ARP crosses a measured link.
///
/// By default, a host's uplink is shaped at the sender, where a full queue makes TCP wait instead
/// of dropping frames. Its downlink is shaped at the switch's port, where several senders compete
/// and a full queue drops frames. docs/links.md describes the placement of all qdiscs.
class Network {
 public:
  /// Builds the hosts, switches and links of a topology, by default a star. No link is throttled.
  /// @throws InputError when the topology does not fit the number of hosts.
  /// @throws RunError when the kernel refuses.
  explicit Network(int hosts, TopologySpec spec = {});
  ~Network();  ///< a new Network may be built at once, although the kernel cleans up later
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  int size() const { return static_cast<int>(hosts_.size()); }
  const Host& host(int index) const { return hosts_[as_index(index)]; }
  const Host& switch_at(int index) const { return switches_[as_index(index)]; }
  std::string data_address(int index) const;
  std::string control_address(int index) const;
  static constexpr const char* kDataNetwork = "198.18.0.0/16";
  static constexpr const char* kControlNetwork = "198.19.0.0/16";
  static constexpr const char* kDataInterface = "thin0";  ///< of every host

  /// Plans the links from `link`, as TopologySpec::plan() does, and sets all of them anew. Drops
  /// queued frames, so call it between transfers. Afterwards token buckets are full and counters
  /// are 0.
  /// @param time_scale  factor of time dilation of all links (netem/topology/time_scale.h)
  /// @throws InputError as plan() does; RunError when the kernel lacks a feature (as
  /// require_kernel_features() checks beforehand) or changes a setting.
  void set_links(const LinkSpec& link, double time_scale = 1) {
    set_topology(plan(link, time_scale));
  }
  /// Returns the topology that set_links() would set.
  Topology plan(const LinkSpec& link, double time_scale = 1) const {
    return slowed(spec_.plan(size(), link), time_scale);
  }
  /// Sets a topology that plan() returned and whose links the caller may have changed.
  void set_topology(Topology planned);
  /// Returns the topology that was set last. Before the first set_links(), no link is throttled.
  const Topology& topology() const { return topology_; }
  const Routes& routes() const { return routes_; }
  /// Returns the rate, delay, queue and other figures of the path from one host to another.
  PathFigures figures(const Flow& flow) const {
    return figures_of(topology_, routes_.path(flow.from, flow.to));
  }

  /// Returns the largest window in bytes for which the hosts' TCP buffers have been widened so far.
  /// A connection keeps the limit that was in force when it was opened.
  double tcp_window() const { return tcp_window_; }

  /// Returns the counters of a link. Links are numbered as in Topology: the access links of hosts 0
  /// to size()-1 first, then the trunks.
  LinkCounters counters(int link) const;
  /// Returns the settings of interfaces and qdiscs that have changed since set_links() (drift), in
  /// words, each with the link's name.
  std::vector<std::string> drift() const;
  /// Returns a link's two interfaces (see ShapedLink). lower() and upper() return the hosts or
  /// switches of the two ends.
  const ShapedLink& shaped(int link) const { return links_[as_index(link)]; }
  const Host& lower(int link) const;
  const Host& upper(int link) const;

  /// Returns the links whose interfaces are down or gone, in words: "link host0: thin0 is down".
  std::vector<std::string> interruptions() const;

  /// Returns the value of the environment variable THINPIPE_HOSTS, by which thinpipe-enter finds
  /// the hosts' namespaces.
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
  int generation_;  // makes interface names in the sandbox's first namespace unique
  std::string control_bridge_;
  std::vector<Host> switches_, hosts_;
  std::vector<std::unique_ptr<Netlink>> switch_netlinks_, host_netlinks_;
  std::vector<ShapedLink> links_;
  double tcp_window_ = 0;  // bytes
  std::map<std::string, std::string> sysctls_;
};

/// Mounts a file with the hosts' names (host0, ...) over /etc/hosts of this sandbox.
/// @param scratch  the sandbox's folder
/// @returns false if /etc/hosts cannot be mounted over. Then only addresses work.
bool name_hosts(const Network& network, const std::string& scratch);

/// Returns "host0=198.18.0.1 host1=198.18.0.2 ...".
std::string host_addresses(const Network& network);

}  // namespace thinpipe
