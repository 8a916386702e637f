// Sets and reads back qdiscs and classes of an interface, over any rtnetlink socket.
#pragma once

#include <functional>
#include <string>

#include "netem/link/attributes.h"
#include "netem/link/netlink.h"
#include "netem/link/qdisc.h"

struct tcmsg;

namespace thinpipe {

/// Identifies a qdisc, or a class of a qdisc, on an interface.
struct TrafficPlace {
  int interface = 0;  ///< index
  TrafficHandle at;
};

/// Creates or changes the qdisc or class. A request without `mismatches` restores a saved qdisc.
/// @throws RunError that begins with `attempt` when the kernel refuses.
void set_traffic(const NetlinkSocket& socket, const TrafficPlace& place,
                 const QdiscRequest& request, const std::string& attempt);

/// Reads the qdisc or class back. @throws RunError that begins with `attempt` when the kind differs
/// or a setting has another value than requested; the error names both values.
void check_traffic(const NetlinkSocket& socket, const TrafficPlace& place,
                   const QdiscRequest& request, const std::string& attempt);

/// Returns the drift from the request, beginning with `what`; "" without drift.
std::string traffic_difference(const NetlinkSocket& socket, const TrafficPlace& place,
                               const QdiscRequest& request, const std::string& what);

/// Deletes a qdisc. No error if there is none.
/// @throws RunError that begins with `attempt` when the kernel refuses.
void delete_qdisc(const NetlinkSocket& socket, const TrafficPlace& place,
                  const std::string& attempt);

/// Passes header and attributes (TCA_KIND, ...) of every message of a list to `consume`.
/// @param question  RTM_GETQDISC for the qdiscs of all interfaces, RTM_GETTFILTER for filters
void list_traffic(int question, const TrafficPlace& place, const std::string& attempt,
                  const std::function<void(const tcmsg&, const AttributeReader&)>& consume);

}  // namespace thinpipe
