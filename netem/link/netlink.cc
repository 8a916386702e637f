#include "netem/link/netlink.h"

#include <linux/if_addr.h>
#include <net/if.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/route.h>
#include <netlink/route/tc.h>

#include <memory>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {
namespace {

struct LinkDeleter {
  void operator()(rtnl_link* link) const { rtnl_link_put(link); }
};
using LinkPtr = std::unique_ptr<rtnl_link, LinkDeleter>;

LinkPtr find_link(nl_sock* socket, const std::string& interface) {
  rtnl_link* link = nullptr;
  check_netlink(rtnl_link_get_kernel(socket, 0, interface.c_str(), &link),
                fmt::format("interface {}", interface));
  return LinkPtr(link);
}

struct QdiscDeleter {
  void operator()(rtnl_qdisc* qdisc) const { rtnl_qdisc_put(qdisc); }
};
using QdiscPtr = std::unique_ptr<rtnl_qdisc, QdiscDeleter>;

struct CacheDeleter {
  void operator()(nl_cache* cache) const { nl_cache_free(cache); }
};

QdiscPtr new_root_qdisc(int index) {
  QdiscPtr qdisc(rtnl_qdisc_alloc());
  rtnl_tc* tc = TC_CAST(qdisc.get());
  rtnl_tc_set_ifindex(tc, index);
  rtnl_tc_set_parent(tc, TC_H_ROOT);
  rtnl_tc_set_handle(tc, TC_HANDLE(1, 0));
  return qdisc;
}

// Reads the root qdisc back from the kernel; null if there is none.
QdiscPtr read_root_qdisc(nl_sock* socket, int index) {
  nl_cache* raw = nullptr;
  check_netlink(rtnl_qdisc_alloc_cache(socket, &raw), "read the qdiscs");
  const std::unique_ptr<nl_cache, CacheDeleter> cache(raw);
  return QdiscPtr(rtnl_qdisc_get_by_parent(raw, index, TC_H_ROOT));
}

struct AddressDeleter {
  void operator()(nl_addr* address) const { nl_addr_put(address); }
};
using AddressPtr = std::unique_ptr<nl_addr, AddressDeleter>;

AddressPtr parse_address(const std::string& text, int family) {
  nl_addr* address = nullptr;
  check_netlink(nl_addr_parse(text.c_str(), family, &address), fmt::format("address {}", text));
  return AddressPtr(address);
}

}  // namespace

void check_netlink(int result, const std::string& attempt) {
  if (result < 0) throw RunError(fmt::format("{}: {}", attempt, nl_geterror(result)));
}

nl_sock* open_rtnetlink() {
  nl_sock* socket = nl_socket_alloc();
  if (socket == nullptr) throw RunError("netlink socket: out of memory");
  const int result = nl_connect(socket, NETLINK_ROUTE);
  if (result < 0) {
    nl_socket_free(socket);
    check_netlink(result, "connect to rtnetlink");
  }
  return socket;
}

Netlink::Netlink() : socket_(open_rtnetlink()) {}

Netlink::~Netlink() { nl_socket_free(socket_); }

int Netlink::index_of(const std::string& interface) {
  return rtnl_link_get_ifindex(find_link(socket_, interface).get());
}

bool Netlink::exists(const std::string& interface) {
  rtnl_link* raw = nullptr;
  const int result = rtnl_link_get_kernel(socket_, 0, interface.c_str(), &raw);
  if (result < 0 && result != -NLE_OBJ_NOTFOUND && result != -NLE_NODEV)
    check_netlink(result, fmt::format("interface {}", interface));
  const LinkPtr link(raw);
  return raw != nullptr;
}

void Netlink::add_link(const std::string& name, const char* kind) {
  const LinkPtr link(rtnl_link_alloc());
  rtnl_link_set_name(link.get(), name.c_str());
  check_netlink(rtnl_link_set_type(link.get(), kind), fmt::format("add {} {}", kind, name));
  check_netlink(rtnl_link_add(socket_, link.get(), NLM_F_CREATE | NLM_F_EXCL),
                fmt::format("add {} {}", kind, name));
}

void Netlink::delete_link(const std::string& name) {
  const LinkPtr link(rtnl_link_alloc());
  rtnl_link_set_name(link.get(), name.c_str());
  check_netlink(rtnl_link_delete(socket_, link.get()), fmt::format("delete {}", name));
}

void Netlink::add_bridge(const std::string& name) { add_link(name, "bridge"); }

void Netlink::add_veth(const std::string& name, const std::string& peer, int peer_namespace) {
  const LinkPtr link(rtnl_link_veth_alloc());
  rtnl_link_set_name(link.get(), name.c_str());
  rtnl_link* other = rtnl_link_veth_get_peer(link.get());  // holds a reference of its own
  rtnl_link_set_name(other, peer.c_str());
  rtnl_link_set_ns_fd(other, peer_namespace);
  rtnl_link_put(other);
  check_netlink(rtnl_link_add(socket_, link.get(), NLM_F_CREATE | NLM_F_EXCL),
                fmt::format("add veth {} with peer {}", name, peer));
}

void Netlink::enslave(const std::string& interface, const std::string& bridge) {
  check_netlink(rtnl_link_enslave_ifindex(socket_, index_of(bridge), index_of(interface)),
                fmt::format("enslave {} to bridge {}", interface, bridge));
}

void Netlink::set_up(const std::string& interface) { set_flag(interface, true); }

void Netlink::set_down(const std::string& interface) { set_flag(interface, false); }

void Netlink::set_flag(const std::string& interface, bool up) {
  const LinkPtr link = find_link(socket_, interface);
  const LinkPtr change(rtnl_link_alloc());
  (up ? rtnl_link_set_flags : rtnl_link_unset_flags)(change.get(), IFF_UP);
  check_netlink(rtnl_link_change(socket_, link.get(), change.get(), 0),
                fmt::format("bring {} {}", interface, up ? "up" : "down"));
}

bool Netlink::is_up(const std::string& interface) {
  return (rtnl_link_get_flags(find_link(socket_, interface).get()) & IFF_UP) != 0;
}

void Netlink::delete_root_qdisc(const std::string& interface) {
  const QdiscPtr qdisc = new_root_qdisc(index_of(interface));
  const int result = rtnl_qdisc_delete(socket_, qdisc.get());
  if (result < 0 && result != -NLE_OBJ_NOTFOUND && result != -NLE_INVAL)
    check_netlink(result, fmt::format("delete the qdisc of {}", interface));
}

QdiscCounters Netlink::root_counters(const std::string& interface) {
  const QdiscPtr qdisc = read_root_qdisc(socket_, index_of(interface));
  if (!qdisc) throw RunError(fmt::format("{} has no root qdisc, so it has no counters", interface));
  rtnl_tc* tc = TC_CAST(qdisc.get());
  return {rtnl_tc_get_stat(tc, RTNL_TC_BYTES), rtnl_tc_get_stat(tc, RTNL_TC_PACKETS),
          rtnl_tc_get_stat(tc, RTNL_TC_DROPS), rtnl_tc_get_stat(tc, RTNL_TC_BACKLOG)};
}

void Netlink::add_address(const std::string& interface, const std::string& cidr, bool with_route) {
  const AddressPtr local = parse_address(cidr, AF_INET);
  rtnl_addr* address = rtnl_addr_alloc();
  rtnl_addr_set_ifindex(address, index_of(interface));
  rtnl_addr_set_local(address, local.get());
  if (!with_route) rtnl_addr_set_flags(address, IFA_F_NOPREFIXROUTE);
  const int result = rtnl_addr_add(socket_, address, 0);
  rtnl_addr_put(address);
  check_netlink(result, fmt::format("add address {} to {}", cidr, interface));
}

std::string Netlink::hardware_address(const std::string& interface) {
  const LinkPtr link = find_link(socket_, interface);
  char text[64] = {};
  nl_addr2str(rtnl_link_get_addr(link.get()), text, sizeof(text));
  return text;
}

void Netlink::add_neighbour(const std::string& interface, const std::string& address,
                            const std::string& hardware_address) {
  const AddressPtr ip = parse_address(address, AF_INET);
  const AddressPtr mac = parse_address(hardware_address, AF_LLC);
  rtnl_neigh* neighbour = rtnl_neigh_alloc();
  rtnl_neigh_set_ifindex(neighbour, index_of(interface));
  rtnl_neigh_set_dst(neighbour, ip.get());
  rtnl_neigh_set_lladdr(neighbour, mac.get());
  rtnl_neigh_set_state(neighbour, NUD_PERMANENT);
  const int result = rtnl_neigh_add(socket_, neighbour, NLM_F_CREATE | NLM_F_REPLACE);
  rtnl_neigh_put(neighbour);
  check_netlink(result,
                fmt::format("add neighbour {} at {} on {}", address, hardware_address, interface));
}

void Netlink::add_route(const std::string& destination, const std::string& interface,
                        const std::string& gateway) {
  const AddressPtr to = parse_address(destination, AF_INET);
  rtnl_route* route = rtnl_route_alloc();
  rtnl_route_set_family(route, AF_INET);
  rtnl_route_set_scope(route, gateway.empty() ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE);
  rtnl_route_set_dst(route, to.get());
  rtnl_nexthop* next = rtnl_route_nh_alloc();
  rtnl_route_nh_set_ifindex(next, index_of(interface));
  if (!gateway.empty()) {
    // On-link, although no address of this namespace is in the gateway's network.
    rtnl_route_nh_set_gateway(next, parse_address(gateway, AF_INET).get());
    rtnl_route_nh_set_flags(next, RTNH_F_ONLINK);
    rtnl_route_set_flags(route, RTNH_F_ONLINK);
  }
  rtnl_route_add_nexthop(route, next);  // takes ownership
  const int result = rtnl_route_add(socket_, route, NLM_F_CREATE | NLM_F_EXCL);
  rtnl_route_put(route);
  check_netlink(result, fmt::format("add route {} over {}{}{}", destination, interface,
                                    gateway.empty() ? "" : " by ", gateway));
}

}  // namespace thinpipe
