// Qdiscs and classes of an interface, set and read back over any socket to rtnetlink.
#pragma once

#include <string>

#include "netem/link/netlink.h"
#include "netem/link/qdisc.h"

struct nl_sock;

namespace thinpipe {

/// Where something stands: at the interface of this number, a qdisc or a class of one.
struct TrafficPlace {
  int interface = 0;
  TrafficHandle at;
  bool is_class = false;
};

/// Makes it, or changes what is there.
/// @throws RunError that begins with `attempt` when the kernel refuses.
void set_traffic(nl_sock* socket, const TrafficPlace& place, const QdiscRequest& request,
                 const std::string& attempt);

/// Asks the kernel what it has there. @throws RunError likewise when that is of another kind, or
/// keeps a setting otherwise than asked: which, what was asked, and what it has.
void check_traffic(nl_sock* socket, const TrafficPlace& place, const QdiscRequest& request,
                   const std::string& attempt);

/// Returns the drift from the request, beginning with `what`; "" when there is none.
std::string traffic_difference(nl_sock* socket, const TrafficPlace& place,
                               const QdiscRequest& request, const std::string& what);

/// Deletes the root qdisc; none is no error.
void delete_root_qdisc(nl_sock* socket, int interface);

}  // namespace thinpipe
