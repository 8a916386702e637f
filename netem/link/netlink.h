// rtnetlink through libnl-route-3: interfaces, addresses and qdiscs of the namespace it was opened
// in.
#pragma once

#include <cstdint>
#include <string>

#include "netem/link/qdisc.h"

struct nl_sock;

namespace thinpipe {

/// @throws RunError with the attempt and libnl's reason if `result` is a code of failure.
void check_netlink(int result, const std::string& attempt);

/// A connected socket of the current network namespace, for nl_socket_free(). @throws RunError
nl_sock* open_rtnetlink();

/// Counters of a qdisc since it was made. `bytes` counts Ethernet frames as they leave it.
struct QdiscCounters {
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;  ///< wraps at 2^32 in libnl-route 3.7
  std::uint64_t drops = 0;
  std::uint64_t backlog = 0;  ///< bytes waiting now
};

/// Where a qdisc or class hangs, in tc's numbers: the root is 0xffffffff, `1:2` is 0x10002.
struct TrafficHandle {
  std::uint32_t parent = 0xffffffff;
  std::uint32_t handle = 0x10000;
};

/// A socket to the kernel for one network namespace: the one that was current when it was made.
/// Errors are SystemError-like RunErrors that name the attempt and the interface.
class Netlink {
 public:
  Netlink();
  ~Netlink();
  Netlink(const Netlink&) = delete;
  Netlink& operator=(const Netlink&) = delete;

  int index_of(const std::string& interface);
  bool exists(const std::string& interface);
  void add_bridge(const std::string& name);
  void add_link(const std::string& name, const char* kind);  ///< "ifb", "dummy", ...
  void delete_link(const std::string& name);
  /// A veth pair: `name` here, `peer` in the namespace that `peer_namespace` (a descriptor) refers
  /// to.
  void add_veth(const std::string& name, const std::string& peer, int peer_namespace);
  void enslave(const std::string& interface, const std::string& bridge);
  void set_up(const std::string& interface);
  void set_down(const std::string& interface);  ///< its routes go
  bool is_up(const std::string& interface);     ///< has been brought up, and not down again
  /// `with_route`: the kernel then knows the way to the whole network of `cidr`.
  void add_address(const std::string& interface, const std::string& cidr, bool with_route = true);
  std::string hardware_address(const std::string& interface);  ///< as in 02:00:00:00:00:01
  /// `address` is reached over `interface` at this hardware address for good: nobody asks ARP.
  void add_neighbour(const std::string& interface, const std::string& address,
                     const std::string& hardware_address);
  /// The way to `destination` (a CIDR) is over `interface`, there or, if given, by `gateway`, which
  /// need not be of a network that an address of ours is in.
  void add_route(const std::string& destination, const std::string& interface,
                 const std::string& gateway = "");

  /// Makes the qdisc, or changes the one of the same kind and handle that is there, then reads it
  /// back. @throws RunError naming interface, setting, what was asked and what the kernel keeps
  /// instead.
  void set_qdisc(const std::string& interface, TrafficHandle at, const QdiscRequest& request);
  /// The same for a class, such as HTB's.
  void set_class(const std::string& interface, TrafficHandle at, const QdiscRequest& request);
  /// Returns the drift of such a qdisc or class, with its place; "" when there is none.
  std::string qdisc_difference(const std::string& interface, TrafficHandle at,
                               const QdiscRequest& request);
  std::string class_difference(const std::string& interface, TrafficHandle at,
                               const QdiscRequest& request);
  void delete_root_qdisc(const std::string& interface);  ///< back to the default; none is no error
  /// Every frame that arrives at `interface` goes to the qdiscs of `target` (an IFB) first and
  /// arrives when it leaves those.
  void redirect_arrivals(const std::string& interface, const std::string& target);
  void stop_redirecting(const std::string& interface);  ///< no redirection there is no error

  /// Largest IP packet, and how many frames' worth the stack may hand over as one packet (65535 as
  /// the kernel has it, 1: frames one by one). Read back like a qdisc.
  void set_frame_limits(const std::string& interface, std::uint32_t mtu, std::uint32_t segments);
  std::string frame_limits_difference(const std::string& interface, std::uint32_t mtu,
                                      std::uint32_t segments);
  /// Counters of the root qdisc.
  QdiscCounters root_counters(const std::string& interface);

 private:
  void set_flag(const std::string& interface, bool up);

  nl_sock* socket_;
};

}  // namespace thinpipe
