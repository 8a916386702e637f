#include "netem/real_nic/nic.h"

#include <net/if.h>
#include <netlink/addr.h>
#include <netlink/cache.h>
#include <netlink/errno.h>
#include <netlink/route/link.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "netem/link/netlink.h"
#include "netem/link/shaping.h"
#include "netem/real_nic/saved_qdiscs.h"

namespace thinpipe {
namespace {

struct Put {
  void operator()(nl_cache* cache) const { nl_cache_free(cache); }
  void operator()(rtnl_link* link) const { rtnl_link_put(link); }
  void operator()(rtnl_route* route) const { rtnl_route_put(route); }
  void operator()(nl_addr* address) const { nl_addr_put(address); }
};
template <typename Thing>
using Held = std::unique_ptr<Thing, Put>;

template <typename Action>
void for_each(nl_cache* cache, Action action) {
  for (nl_object* object = nl_cache_get_first(cache); object != nullptr;
       object = nl_cache_get_next(object))
    action(object);
}

class Interfaces {
 public:
  explicit Interfaces(const NetlinkSocket& kernel) {
    nl_cache* raw = nullptr;
    check_netlink(rtnl_link_alloc_cache(kernel.get(), AF_UNSPEC, &raw), "read the interfaces");
    cache_.reset(raw);
  }

  // Returns the interface and all interfaces below: members of a bond or bridge, parent of a VLAN.
  std::set<int> with_lower(int top) const {
    std::set<int> found = {top};
    for (std::size_t before = 0; before != found.size();) {
      before = found.size();
      for_each(cache_.get(), [&](nl_object* object) {
        auto* link = reinterpret_cast<rtnl_link*>(object);
        const int index = rtnl_link_get_ifindex(link);
        if (found.contains(rtnl_link_get_master(link))) found.insert(index);
        // IFLA_LINK normally names the lower interface. A veth's IFLA_LINK names its peer instead.
        // An IFLA_LINK in another namespace does not count either.
        const char* kind = rtnl_link_get_type(link);
        int elsewhere = 0;
        if (found.contains(index) && rtnl_link_get_link(link) > 0 &&
            rtnl_link_get_link_netnsid(link, &elsewhere) != 0 &&
            (kind == nullptr || std::string(kind) != "veth"))
          found.insert(rtnl_link_get_link(link));
      });
    }
    return found;
  }

  std::string name(int index) const {
    char buffer[64] = {};
    const char* name = rtnl_link_i2name(cache_.get(), index, buffer, sizeof(buffer));
    return name != nullptr ? name : std::to_string(index);
  }

 private:
  Held<nl_cache> cache_;
};

std::set<int> egress_interfaces(rtnl_route* route) {
  std::set<int> indices;
  for (int hop = 0; hop < rtnl_route_get_nnexthops(route); ++hop)
    indices.insert(rtnl_route_nh_get_ifindex(rtnl_route_nexthop_n(route, hop)));
  return indices;
}

// Returns the egress interfaces of all default routes.
std::set<int> default_routes(const NetlinkSocket& kernel) {
  nl_cache* raw = nullptr;
  check_netlink(rtnl_route_alloc_cache(kernel.get(), AF_UNSPEC, 0, &raw), "read the routes");
  const Held<nl_cache> cache(raw);
  std::set<int> found;
  for_each(raw, [&](nl_object* object) {
    auto* route = reinterpret_cast<rtnl_route*>(object);
    nl_addr* destination = rtnl_route_get_dst(route);
    if (rtnl_route_get_type(route) == RTN_UNICAST &&
        (destination == nullptr || nl_addr_get_prefixlen(destination) == 0))
      found.merge(egress_interfaces(route));
  });
  return found;
}

// Returns the egress interface towards the address; 0 for a local address or without a route.
int egress_to(const NetlinkSocket& kernel, const std::string& address) {
  // A link-local address names its interface: fe80::1%eth0.
  if (const std::size_t scope = address.find('%'); scope != std::string::npos)
    return static_cast<int>(if_nametoindex(address.c_str() + scope + 1));
  nl_addr* parsed = nullptr;
  if (nl_addr_parse(address.c_str(), AF_UNSPEC, &parsed) < 0)
    throw InputError(fmt::format("'{}' is not an IP address", address));
  const Held<nl_addr> destination(parsed);
  rtnl_route* raw = nullptr;
  const int result = rtnl_route_lookup(kernel.get(), parsed, &raw);
  if (result < 0) return 0;
  const Held<rtnl_route> route(raw);
  if (rtnl_route_get_type(raw) != RTN_UNICAST) return 0;
  const std::set<int> indices = egress_interfaces(raw);
  return indices.empty() ? 0 : *indices.begin();
}

std::uint32_t mtu_of(const std::string& interface) {
  const NetlinkSocket kernel = open_rtnetlink();
  rtnl_link* raw = nullptr;
  check_netlink(rtnl_link_get_kernel(kernel.get(), 0, interface.c_str(), &raw),
                fmt::format("interface {}", interface));
  const Held<rtnl_link> link(raw);
  return rtnl_link_get_mtu(raw);
}

// Returns the qdiscs for the interface. A token bucket drops every frame that is larger than
// itself, so bucket and queue must fit the interface's MTU rather than a link's default MTU.
Shaping shaping_on(const std::string& interface, const LinkSpec& link) {
  LinkSpec fitted = link;
  fitted.mtu = mtu_of(interface);
  for (const auto& [key, bytes] :
       {std::pair{"burst", link.up.burst}, std::pair{"queue", link.up.queue}})
    if (bytes > 0 && bytes < fitted.frame_bytes())
      throw InputError(
          fmt::format("link '{}': {}={} is smaller than a frame of {} ({} bytes at its MTU of {})",
                      link.to_string(), key, bytes, interface, fitted.frame_bytes(), fitted.mtu));
  Shaping shaping = shaping_of(fitted).host;
  constexpr std::uint32_t kOffset = kOurHandle - TrafficHandle().handle;
  for (ShapingStep& step : shaping) {
    step.at.handle += kOffset;
    if (step.at.parent != TrafficHandle().parent) step.at.parent += kOffset;
  }
  return shaping;
}

}  // namespace

std::vector<std::string> controlling_addresses() {
  std::vector<std::string> addresses;
  if (const char* ssh = std::getenv("SSH_CONNECTION")) {
    const std::string client = split(ssh, ' ')[0];
    // sshd names a client UNKNOWN that has no address, as under inetd on a pipe.
    if (!client.empty() && client != "UNKNOWN") addresses.push_back(client);
  }
  if (const char* launcher = std::getenv("SLURM_LAUNCH_NODE_IPADDR"))
    if (*launcher != '\0') addresses.emplace_back(launcher);
  return addresses;
}

std::vector<std::string> burdens_of(const std::string& interface,
                                    const std::vector<std::string>& controllers) {
  const NetlinkSocket kernel = open_rtnetlink();
  const int ours = interface_index(interface);
  const Interfaces interfaces(kernel);
  std::vector<std::string> burdens;
  const auto consider = [&](int egress, const std::string& what) {
    if (egress == 0 || !interfaces.with_lower(egress).contains(ours)) return;
    burdens.push_back(egress == ours ? fmt::format("{} carries {}", interface, what)
                                     : fmt::format("{} is below {}, which carries {}", interface,
                                                   interfaces.name(egress), what));
  };
  for (const int egress : default_routes(kernel)) consider(egress, "the default route");
  std::set<std::string> seen;
  for (const std::string& address : controllers)
    if (seen.insert(address).second)
      consider(egress_to(kernel, address),
               fmt::format("the connection to {}, which controls this host", address));
  return burdens;
}

std::string why_not_on_a_nic(const LinkSpec& link) {
  const LinkSpec plain;
  if (!link.up.impairment.none() || !link.down.impairment.none() || link.needs_single_frames())
    return "a real interface supports only rate, burst, queue and shaper=htb";
  if (link.up.rate == 0 || link.up != link.down)
    return "a real interface needs one rate, equal for uplink and downlink";
  if (link.place != plain.place) return "place=switch needs an emulated switch";
  if (link.seed) return "a real interface has no netem, so it takes no seed";
  if (link.mtu != plain.mtu) return "thinpipe does not change the MTU of a real interface";
  return "";
}

void throttle_nic(const std::string& interface, const LinkSpec& link) {
  if (const std::string reason = why_not_on_a_nic(link); !reason.empty())
    throw InputError(fmt::format("link '{}': {}", link.to_string(), reason));
  const Shaping shaping = shaping_on(interface, link);
  Netlink netlink;
  install(netlink, interface, shaping);
}

std::vector<std::string> nic_drift(const std::string& interface, const LinkSpec& link) {
  Netlink netlink;
  return differences(netlink, interface, shaping_on(interface, link));
}

}  // namespace thinpipe
