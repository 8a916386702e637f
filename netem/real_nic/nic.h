// A real interface: the traffic on it that must not be throttled by accident, and the link settings
// that it supports. Its guard throttles it for a sweep on another machine, and restores it when the
// sweep ends, however it ends.
#pragma once

#include <string>
#include <vector>

#include "netem/link/link_spec.h"

namespace thinpipe {

/// Returns the remote addresses of the connections that control this process: the ssh client in
/// SSH_CONNECTION, and srun's host in SLURM_LAUNCH_NODE_IPADDR. Leaves out an address whose
/// environment variable is not set.
std::vector<std::string> controlling_addresses();

/// Returns the reasons not to throttle the interface, one line each; empty if there is none. A
/// reason is a route whose egress is the interface, directly or below a bond, bridge or VLAN. Only
/// default routes (IPv4 or IPv6, of any table) and routes to an address of `controllers` are
/// reasons. Addresses of this machine itself do not count.
/// @throws InputError for an invalid IP address; RunError when the kernel's tables cannot be read.
std::vector<std::string> burdens_of(const std::string& interface,
                                    const std::vector<std::string>& controllers);

/// Returns the reason why this link cannot be set on a real interface; "" if it can be set. The
/// supported settings are a rate that is equal in both directions, burst, queue and shaper=htb. The
/// egress of every host is shaped, and this shapes both directions between any two hosts. Other
/// settings would need shaping on the receiving side, frames one by one (the NIC's offloads
/// disabled), or a change of the NIC's MTU, which thinpipe does not touch.
std::string why_not_on_a_nic(const LinkSpec& link);

/// Replaces the interface's root qdisc by the link's. The default bucket and queue hold frames of
/// the interface's MTU. Afterwards buckets are full, queues empty and counters 0.
/// @throws InputError with why_not_on_a_nic(), or for a bucket or queue that is smaller than the
/// interface's frames; RunError when the kernel refuses or changes a setting.
void throttle_nic(const std::string& interface, const LinkSpec& link);

/// Returns the drift of the interface's qdiscs since throttle_nic(), in words.
std::vector<std::string> nic_drift(const std::string& interface, const LinkSpec& link);

// The guard.

struct GuardOptions {
  std::string interface;
  double lease = 15;  ///< s without a line from the sweep after which the interface is restored
  std::vector<std::string> controllers;  ///< further IP addresses that reach the sweep
  bool anyway = false;  ///< throttle even if the interface carries these or a default route
};

/// Talks with the sweep in lines over `in` and `out` and returns an exit code. The first line is
///   guarding MTU KIND    the interface may be throttled; KIND is the qdisc to restore
///   refused REASON       and the exit code is kExitUsage (burdened) or kExitFailed
/// Afterwards the guard answers each line. Every line renews the lease:
///   link SPEC    throttle            -> set SPEC  |  error REASON
///   count        the root qdisc      -> counted BYTES PACKETS DROPS BACKLOG  |  error REASON
///   check        for drift           -> checked same  |  checked DRIFT  |  error REASON
///   renew                            -> renewed
///   restore      restore and exit    -> restored HOW  |  error REASON
///
/// The guard restores the interface when `in` ends (the connection closed, the sweep was killed),
/// when the lease expires (the connection hangs), and at SIGTERM, SIGINT and SIGQUIT. A child in a
/// session of its own does this work. If the child is killed, its parent restores the interface. If
/// both are killed, the state file remains for finish().
int run_guard(const GuardOptions& options, int in, int out);

}  // namespace thinpipe
