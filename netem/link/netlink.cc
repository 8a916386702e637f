#include "netem/link/netlink.h"

#include <linux/if_addr.h>
#include <net/if.h>
#include <netlink/cache.h>
#include <netlink/handlers.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/route.h>
#include <netlink/route/tc.h>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {
namespace {

NetlinkOwned<rtnl_link> find_link(const NetlinkSocket& socket, const std::string& interface) {
  rtnl_link* link = nullptr;
  check_netlink(rtnl_link_get_kernel(socket.get(), 0, interface.c_str(), &link),
                fmt::format("interface {}", interface));
  return NetlinkOwned<rtnl_link>(link);
}

NetlinkOwned<rtnl_link> new_link(const std::string& name) {
  NetlinkOwned<rtnl_link> link(rtnl_link_alloc());
  rtnl_link_set_name(link.get(), name.c_str());
  return link;
}

NetlinkOwned<nl_addr> parse_address(const std::string& text, int family) {
  nl_addr* address = nullptr;
  check_netlink(nl_addr_parse(text.c_str(), family, &address), fmt::format("address {}", text));
  return NetlinkOwned<nl_addr>(address);
}

}  // namespace

void NetlinkRelease::operator()(nl_addr* address) const { nl_addr_put(address); }
void NetlinkRelease::operator()(nl_cache* cache) const { nl_cache_free(cache); }
void NetlinkRelease::operator()(nl_cb* callbacks) const { nl_cb_put(callbacks); }
void NetlinkRelease::operator()(nl_msg* message) const { nlmsg_free(message); }
void NetlinkRelease::operator()(nl_sock* socket) const { nl_socket_free(socket); }
void NetlinkRelease::operator()(rtnl_addr* address) const { rtnl_addr_put(address); }
void NetlinkRelease::operator()(rtnl_link* link) const { rtnl_link_put(link); }
void NetlinkRelease::operator()(rtnl_neigh* neighbour) const { rtnl_neigh_put(neighbour); }
void NetlinkRelease::operator()(rtnl_qdisc* qdisc) const { rtnl_qdisc_put(qdisc); }
void NetlinkRelease::operator()(rtnl_route* route) const { rtnl_route_put(route); }

void check_netlink(int result, const std::string& attempt) {
  if (result < 0) throw RunError(fmt::format("{}: {}", attempt, nl_geterror(result)));
}

NetlinkSocket open_rtnetlink() {
  NetlinkSocket socket(nl_socket_alloc());
  if (!socket) throw RunError("netlink socket: out of memory");
  check_netlink(nl_connect(socket.get(), NETLINK_ROUTE), "connect to rtnetlink");
  return socket;
}

int interface_index(const std::string& name) {
  const unsigned index = if_nametoindex(name.c_str());
  if (index == 0) throw RunError(fmt::format("there is no interface '{}'", name));
  return static_cast<int>(index);
}

int Netlink::index_of(const std::string& interface) {
  return rtnl_link_get_ifindex(find_link(socket_, interface).get());
}

bool Netlink::exists(const std::string& interface) {
  rtnl_link* raw = nullptr;
  const int result = rtnl_link_get_kernel(socket_.get(), 0, interface.c_str(), &raw);
  if (result < 0 && result != -NLE_OBJ_NOTFOUND && result != -NLE_NODEV)
    check_netlink(result, fmt::format("interface {}", interface));
  const NetlinkOwned<rtnl_link> link(raw);
  return raw != nullptr;
}

void Netlink::add_link(const std::string& name, const char* kind) {
  const NetlinkOwned<rtnl_link> link = new_link(name);
  const std::string attempt = fmt::format("add {} {}", kind, name);
  check_netlink(rtnl_link_set_type(link.get(), kind), attempt);
  check_netlink(rtnl_link_add(socket_.get(), link.get(), NLM_F_CREATE | NLM_F_EXCL), attempt);
}

void Netlink::delete_link(const std::string& name) {
  check_netlink(rtnl_link_delete(socket_.get(), new_link(name).get()),
                fmt::format("delete {}", name));
}

void Netlink::add_veth(const std::string& name, const std::string& peer, int peer_namespace) {
  const NetlinkOwned<rtnl_link> link(rtnl_link_veth_alloc());
  rtnl_link_set_name(link.get(), name.c_str());
  rtnl_link* other = rtnl_link_veth_get_peer(link.get());  // holds a reference of its own
  rtnl_link_set_name(other, peer.c_str());
  rtnl_link_set_ns_fd(other, peer_namespace);
  rtnl_link_put(other);
  check_netlink(rtnl_link_add(socket_.get(), link.get(), NLM_F_CREATE | NLM_F_EXCL),
                fmt::format("add veth {} with peer {}", name, peer));
}

void Netlink::enslave(const std::string& interface, const std::string& bridge) {
  check_netlink(rtnl_link_enslave_ifindex(socket_.get(), index_of(bridge), index_of(interface)),
                fmt::format("enslave {} to bridge {}", interface, bridge));
}

void Netlink::set_up(const std::string& interface) { set_flag(interface, true); }

void Netlink::set_down(const std::string& interface) { set_flag(interface, false); }

void Netlink::set_flag(const std::string& interface, bool up) {
  const NetlinkOwned<rtnl_link> link = find_link(socket_, interface), change(rtnl_link_alloc());
  (up ? rtnl_link_set_flags : rtnl_link_unset_flags)(change.get(), IFF_UP);
  check_netlink(rtnl_link_change(socket_.get(), link.get(), change.get(), 0),
                fmt::format("bring {} {}", interface, up ? "up" : "down"));
}

bool Netlink::is_up(const std::string& interface) {
  return (rtnl_link_get_flags(find_link(socket_, interface).get()) & IFF_UP) != 0;
}

bool Netlink::is_loopback(const std::string& interface) {
  return (rtnl_link_get_flags(find_link(socket_, interface).get()) & IFF_LOOPBACK) != 0;
}

std::uint32_t Netlink::mtu(const std::string& interface) {
  return rtnl_link_get_mtu(find_link(socket_, interface).get());
}

QdiscCounters Netlink::root_counters(const std::string& interface) {
  const int index = index_of(interface);
  nl_cache* raw = nullptr;
  check_netlink(rtnl_qdisc_alloc_cache(socket_.get(), &raw), "read the qdiscs");
  const NetlinkOwned<nl_cache> cache(raw);
  const NetlinkOwned<rtnl_qdisc> qdisc(rtnl_qdisc_get_by_parent(raw, index, TC_H_ROOT));
  if (!qdisc) throw RunError(fmt::format("{} has no root qdisc, so it has no counters", interface));
  rtnl_tc* tc = TC_CAST(qdisc.get());
  return {rtnl_tc_get_stat(tc, RTNL_TC_BYTES), rtnl_tc_get_stat(tc, RTNL_TC_PACKETS),
          rtnl_tc_get_stat(tc, RTNL_TC_DROPS), rtnl_tc_get_stat(tc, RTNL_TC_BACKLOG)};
}

void Netlink::add_address(const std::string& interface, const std::string& cidr, bool with_route) {
  const NetlinkOwned<nl_addr> local = parse_address(cidr, AF_INET);
  const NetlinkOwned<rtnl_addr> address(rtnl_addr_alloc());
  rtnl_addr_set_ifindex(address.get(), index_of(interface));
  rtnl_addr_set_local(address.get(), local.get());
  if (!with_route) rtnl_addr_set_flags(address.get(), IFA_F_NOPREFIXROUTE);
  check_netlink(rtnl_addr_add(socket_.get(), address.get(), 0),
                fmt::format("add address {} to {}", cidr, interface));
}

std::string Netlink::hardware_address(const std::string& interface) {
  const NetlinkOwned<rtnl_link> link = find_link(socket_, interface);
  char text[64] = {};
  nl_addr2str(rtnl_link_get_addr(link.get()), text, sizeof(text));
  return text;
}

void Netlink::add_neighbour(const std::string& interface, const std::string& address,
                            const std::string& hardware_address) {
  const NetlinkOwned<nl_addr> ip = parse_address(address, AF_INET);
  const NetlinkOwned<nl_addr> mac = parse_address(hardware_address, AF_LLC);
  const NetlinkOwned<rtnl_neigh> neighbour(rtnl_neigh_alloc());
  rtnl_neigh_set_ifindex(neighbour.get(), index_of(interface));
  rtnl_neigh_set_dst(neighbour.get(), ip.get());
  rtnl_neigh_set_lladdr(neighbour.get(), mac.get());
  rtnl_neigh_set_state(neighbour.get(), NUD_PERMANENT);
  check_netlink(rtnl_neigh_add(socket_.get(), neighbour.get(), NLM_F_CREATE | NLM_F_REPLACE),
                fmt::format("add neighbour {} at {} on {}", address, hardware_address, interface));
}

void Netlink::add_route(const std::string& destination, const std::string& interface,
                        const std::string& gateway) {
  const NetlinkOwned<nl_addr> to = parse_address(destination, AF_INET);
  const NetlinkOwned<rtnl_route> route(rtnl_route_alloc());
  rtnl_route_set_family(route.get(), AF_INET);
  rtnl_route_set_scope(route.get(), gateway.empty() ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE);
  rtnl_route_set_dst(route.get(), to.get());
  rtnl_nexthop* next = rtnl_route_nh_alloc();
  rtnl_route_nh_set_ifindex(next, index_of(interface));
  if (!gateway.empty()) {
    // On-link, although no address of this namespace is in the gateway's network.
    rtnl_route_nh_set_gateway(next, parse_address(gateway, AF_INET).get());
    rtnl_route_nh_set_flags(next, RTNH_F_ONLINK);
    rtnl_route_set_flags(route.get(), RTNH_F_ONLINK);
  }
  rtnl_route_add_nexthop(route.get(), next);  // takes ownership
  check_netlink(rtnl_route_add(socket_.get(), route.get(), NLM_F_CREATE | NLM_F_EXCL),
                fmt::format("add route {} over {}{}{}", destination, interface,
                            gateway.empty() ? "" : " by ", gateway));
}

}  // namespace thinpipe
