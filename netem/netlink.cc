#include "netem/netlink.h"

#include <net/if.h>
#include <netlink/cache.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/qdisc.h>
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

// The kernel's own copy of the root qdisc; empty when there is none.
QdiscPtr read_root_qdisc(nl_sock* socket, int index) {
  nl_cache* raw = nullptr;
  check_netlink(rtnl_qdisc_alloc_cache(socket, &raw), "read the qdiscs");
  const std::unique_ptr<nl_cache, CacheDeleter> cache(raw);
  return QdiscPtr(rtnl_qdisc_get_by_parent(raw, index, TC_H_ROOT));
}

}  // namespace

void check_netlink(int result, const std::string& attempt) {
  if (result < 0) throw RunError(fmt::format("{}: {}", attempt, nl_geterror(result)));
}

Netlink::Netlink() : socket_(nl_socket_alloc()) {
  if (socket_ == nullptr) throw RunError("netlink socket: out of memory");
  const int result = nl_connect(socket_, NETLINK_ROUTE);
  if (result < 0) {
    nl_socket_free(socket_);
    check_netlink(result, "connect to rtnetlink");
  }
}

Netlink::~Netlink() { nl_socket_free(socket_); }

int Netlink::index_of(const std::string& interface) {
  rtnl_link* raw = nullptr;
  check_netlink(rtnl_link_get_kernel(socket_, 0, interface.c_str(), &raw),
                fmt::format("interface {}", interface));
  const LinkPtr link(raw);
  return rtnl_link_get_ifindex(raw);
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
                fmt::format("put {} on bridge {}", interface, bridge));
}

void Netlink::set_up(const std::string& interface) { set_flag(interface, true); }

void Netlink::set_down(const std::string& interface) { set_flag(interface, false); }

void Netlink::set_flag(const std::string& interface, bool up) {
  rtnl_link* raw = nullptr;
  check_netlink(rtnl_link_get_kernel(socket_, 0, interface.c_str(), &raw),
                fmt::format("interface {}", interface));
  const LinkPtr link(raw);
  const LinkPtr change(rtnl_link_alloc());
  (up ? rtnl_link_set_flags : rtnl_link_unset_flags)(change.get(), IFF_UP);
  check_netlink(rtnl_link_change(socket_, raw, change.get(), 0),
                fmt::format("bring {} {}", interface, up ? "up" : "down"));
}

bool Netlink::is_up(const std::string& interface) {
  rtnl_link* raw = nullptr;
  check_netlink(rtnl_link_get_kernel(socket_, 0, interface.c_str(), &raw),
                fmt::format("interface {}", interface));
  const LinkPtr link(raw);
  return (rtnl_link_get_flags(raw) & IFF_UP) != 0;
}

void Netlink::delete_root_qdisc(const std::string& interface) {
  const QdiscPtr qdisc = new_root_qdisc(index_of(interface));
  const int result = rtnl_qdisc_delete(socket_, qdisc.get());
  if (result < 0 && result != -NLE_OBJ_NOTFOUND && result != -NLE_INVAL)
    check_netlink(result, fmt::format("delete the qdisc of {}", interface));
}

QdiscCounters Netlink::root_counters(const std::string& interface) {
  const QdiscPtr qdisc = read_root_qdisc(socket_, index_of(interface));
  if (!qdisc) throw RunError(fmt::format("{} has no qdisc to count with", interface));
  rtnl_tc* tc = TC_CAST(qdisc.get());
  return {rtnl_tc_get_stat(tc, RTNL_TC_BYTES), rtnl_tc_get_stat(tc, RTNL_TC_PACKETS),
          rtnl_tc_get_stat(tc, RTNL_TC_DROPS), rtnl_tc_get_stat(tc, RTNL_TC_BACKLOG)};
}

}  // namespace thinpipe
