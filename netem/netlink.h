// rtnetlink through libnl-route-3: interfaces, addresses and qdiscs of the namespace it was opened
// in.
#pragma once

#include <cstdint>
#include <string>

struct nl_sock;

namespace thinpipe {

/// Counters of a qdisc since it was made. `bytes` counts Ethernet frames as they leave it.
struct QdiscCounters {
  std::uint64_t bytes = 0;
  std::uint64_t packets = 0;  ///< wraps at 2^32 in libnl-route 3.7
  std::uint64_t drops = 0;
  std::uint64_t backlog = 0;  ///< bytes waiting now
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
  void add_bridge(const std::string& name);
  void add_link(const std::string& name, const char* kind);  ///< "ifb", "dummy", ...
  /// A veth pair: `name` here, `peer` in the namespace that `peer_namespace` (a descriptor) refers
  /// to.
  void add_veth(const std::string& name, const std::string& peer, int peer_namespace);
  void enslave(const std::string& interface, const std::string& bridge);
  void set_up(const std::string& interface);
  void add_address(const std::string& interface, const std::string& cidr);

  /// Puts a TBF at the root of the interface, or changes the one there. rate in bit/s; burst and
  /// limit in bytes. What the kernel then says is compared with what was asked.
  void set_tbf(const std::string& interface, double rate, std::uint32_t burst, std::uint32_t limit);
  void add_fifo(
      const std::string& interface);  ///< first in, first out, 16 MB: counts, throttles nothing
  void add_htb(const std::string& interface);    ///< an empty one, to see whether the kernel has it
  void add_netem(const std::string& interface);  ///< likewise: delay 1 ms
  void delete_root_qdisc(const std::string& interface);  ///< back to the default; none is no error
  /// Counters of the root qdisc.
  QdiscCounters root_counters(const std::string& interface);

 private:
  nl_sock* socket_;
};

}  // namespace thinpipe
