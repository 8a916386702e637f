// Addresses, routes and neighbours of a namespace.
#include <linux/if_addr.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/netlink.h"

namespace thinpipe {

namespace {

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

void Netlink::add_address(const std::string& interface, const std::string& cidr, bool with_route) {
  const AddressPtr local = parse_address(cidr, AF_INET);
  rtnl_addr* address = rtnl_addr_alloc();
  rtnl_addr_set_ifindex(address, index_of(interface));
  rtnl_addr_set_local(address, local.get());
  if (!with_route) rtnl_addr_set_flags(address, IFA_F_NOPREFIXROUTE);
  const int result = rtnl_addr_add(socket_, address, 0);
  rtnl_addr_put(address);
  check_netlink(result, fmt::format("give {} the address {}", interface, cidr));
}

std::string Netlink::hardware_address(const std::string& interface) {
  rtnl_link* link = nullptr;
  check_netlink(rtnl_link_get_kernel(socket_, 0, interface.c_str(), &link),
                fmt::format("interface {}", interface));
  char text[64] = {};
  nl_addr2str(rtnl_link_get_addr(link), text, sizeof(text));
  rtnl_link_put(link);
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
  check_netlink(result, fmt::format("tell {} that {} is {}", interface, address, hardware_address));
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
    // On the link although no address of ours says so.
    rtnl_route_nh_set_gateway(next, parse_address(gateway, AF_INET).get());
    rtnl_route_nh_set_flags(next, RTNH_F_ONLINK);
    rtnl_route_set_flags(route, RTNH_F_ONLINK);
  }
  rtnl_route_add_nexthop(route, next);  // owns it now
  const int result = rtnl_route_add(socket_, route, NLM_F_CREATE | NLM_F_EXCL);
  rtnl_route_put(route);
  check_netlink(result, fmt::format("route {} over {}{}{}", destination, interface,
                                    gateway.empty() ? "" : " by ", gateway));
}

}  // namespace thinpipe
