// Throttles one interface of this host for a sweep on another machine, and restores the interface
// when the sweep ends, however it ends.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

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
