// Sets and reads back qdiscs and classes of an interface, over any rtnetlink socket.
#pragma once

#include <string>

#include "netem/link/netlink.h"
#include "netem/link/qdisc.h"

struct nl_sock;

namespace thinpipe {

/// Identifies a qdisc, or a class of a qdisc, on an interface.
struct TrafficPlace {
  int interface = 0;  ///< index
  TrafficHandle at;
  bool is_class = false;
};

/// Creates or changes the qdisc or class.
/// @throws RunError that begins with `attempt` when the kernel refuses.
void set_traffic(nl_sock* socket, const TrafficPlace& place, const QdiscRequest& request,
                 const std::string& attempt);

/// Reads the qdisc or class back. @throws RunError that begins with `attempt` when the kind differs
/// or a setting has another value than requested; the error names both values.
void check_traffic(nl_sock* socket, const TrafficPlace& place, const QdiscRequest& request,
                   const std::string& attempt);

/// Returns the drift from the request, beginning with `what`; "" without drift.
std::string traffic_difference(nl_sock* socket, const TrafficPlace& place,
                               const QdiscRequest& request, const std::string& what);

/// Deletes the root qdisc. No error if there is none.
void delete_root_qdisc(nl_sock* socket, int interface);

}  // namespace thinpipe
