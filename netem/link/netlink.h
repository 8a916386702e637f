// rtnetlink through libnl-route-3: interfaces, addresses and qdiscs of the network namespace in
// which the socket was opened.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "netem/link/qdisc.h"

struct nl_addr;
struct nl_cache;
struct nl_cb;
struct nl_msg;
struct nl_sock;
struct rtnl_addr;
struct rtnl_link;
struct rtnl_neigh;
struct rtnl_qdisc;
struct rtnl_route;

namespace thinpipe {

/// Checks a result of libnl. @throws RunError with the attempt and libnl's reason if `result` is an
/// error code.
void check_netlink(int result, const std::string& attempt);

/// Releases what libnl allocates.
struct NetlinkRelease {
  void operator()(nl_addr* address) const;
  void operator()(nl_cache* cache) const;
  void operator()(nl_cb* callbacks) const;
  void operator()(nl_msg* message) const;
  void operator()(nl_sock* socket) const;
  void operator()(rtnl_addr* address) const;
  void operator()(rtnl_link* link) const;
  void operator()(rtnl_neigh* neighbour) const;
  void operator()(rtnl_qdisc* qdisc) const;
  void operator()(rtnl_route* route) const;
};
template <typename Object>
using NetlinkOwned = std::unique_ptr<Object, NetlinkRelease>;
using NetlinkSocket = NetlinkOwned<nl_sock>;

/// Returns a connected socket of the current network namespace. @throws RunError
NetlinkSocket open_rtnetlink();

/// Returns the index of an interface in the current network namespace.
/// @throws RunError when no interface has this name.
int interface_index(const std::string& name);

/// Counters of a qdisc since its creation. `bytes` counts dequeued Ethernet frames.
struct QdiscCounters {
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;  ///< wraps at 2^32 in libnl-route 3.7
  std::uint64_t drops = 0;
  std::uint64_t backlog = 0;  ///< bytes queued now
};

/// Parent and handle of a qdisc or class, in tc's numbers: the root is 0xffffffff, `1:2` is
/// 0x10002.
struct TrafficHandle {
  std::uint32_t parent = 0xffffffff;
  std::uint32_t handle = 0x10000;
  /// Returns true for a class. A qdisc's handle has no minor number.
  bool is_class() const { return (handle & 0xffff) != 0; }
};

/// An rtnetlink socket of the network namespace that was current at construction. Errors are
/// RunErrors that name the attempt and the interface.
class Netlink {
 public:
  Netlink() : socket_(open_rtnetlink()) {}

  int index_of(const std::string& interface);
  bool exists(const std::string& interface);
  void add_link(const std::string& name, const char* kind);  ///< "bridge", "ifb", "dummy", ...
  void delete_link(const std::string& name);
  /// Adds a veth pair: `name` in this namespace, `peer` in the namespace that the descriptor
  /// `peer_namespace` refers to.
  void add_veth(const std::string& name, const std::string& peer, int peer_namespace);
  void enslave(const std::string& interface, const std::string& bridge);
  void set_up(const std::string& interface);
  void set_down(const std::string& interface);  ///< also removes its routes
  bool is_up(const std::string& interface);     ///< administratively up (IFF_UP)
  bool is_loopback(const std::string& interface);
  std::uint32_t mtu(const std::string& interface);
  /// Adds an IPv4 address with the length of its network's prefix, such as 198.18.0.1/16.
  /// @param with_route  also adds the route to this network
  void add_address(const std::string& interface, const std::string& cidr, bool with_route = true);
  std::string hardware_address(const std::string& interface);  ///< such as 02:00:00:00:00:01
  /// Adds a permanent neighbour entry, so that `address` needs no ARP.
  void add_neighbour(const std::string& interface, const std::string& address,
                     const std::string& hardware_address);
  /// Adds a route to `destination` (a CIDR) over `interface`: via `gateway` if given, otherwise
  /// on-link. The gateway may be outside the networks of this namespace's addresses.
  void add_route(const std::string& destination, const std::string& interface,
                 const std::string& gateway = "");

  /// Creates the qdisc or class, or changes an existing one of the same kind and handle, then reads
  /// the settings back. @throws RunError naming interface, setting, the requested and the kernel's
  /// value.
  void set_qdisc(const std::string& interface, TrafficHandle at, const QdiscRequest& request);
  /// Returns in words how a qdisc or class differs from the request (drift); "" if it does not.
  std::string qdisc_difference(const std::string& interface, TrafficHandle at,
                               const QdiscRequest& request);
  /// Deletes the root qdisc, so that the kernel's default replaces it. No error if there is none.
  void delete_root_qdisc(const std::string& interface);
  /// Redirects ingress of `interface` to `target` (an IFB): every frame passes the target's qdiscs
  /// before it is received.
  void redirect_arrivals(const std::string& interface, const std::string& target);
  void stop_redirecting(const std::string& interface);  ///< no error without a redirection

  /// Sets the MTU in bytes, and `segments`, the most frames that the stack may pass on as one GSO
  /// packet (65535: the kernel's default; 1: frames one by one). Reads both back.
  void set_frame_limits(const std::string& interface, std::uint32_t mtu, std::uint32_t segments);
  /// Returns in words how both differ from these values; "" if they do not.
  std::string frame_limits_difference(const std::string& interface, std::uint32_t mtu,
                                      std::uint32_t segments);
  /// Returns the counters of the root qdisc.
  QdiscCounters root_counters(const std::string& interface);

 private:
  void set_flag(const std::string& interface, bool up);

  NetlinkSocket socket_;
};

}  // namespace thinpipe
