// Throttles one interface of this host for a sweep elsewhere, and gives it back when that ends,
// however it ends.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

struct GuardOptions {
  std::string interface;
  double lease = 15;  ///< s without a word from the sweep after which the interface is given back
  std::vector<std::string> controllers;  ///< further IP addresses the sweep is reached by
  bool anyway = false;  ///< although the interface carries those or a default route
};

/// Talks with the sweep in lines over `in` and `out` and returns an exit code. It says first
///   guarding MTU KIND       the interface may be throttled; KIND is the qdisc that it will be
///   given back refused REASON          and ends with kExitUsage (burdened) or kExitFailed
/// and then answers each line that comes; every one renews the lease:
///   link SPEC    throttles           -> set SPEC  |  error REASON
///   count        of our qdisc        -> counted BYTES PACKETS DROPS BACKLOG  |  error REASON
///   renew                            -> renewed
///   restore      gives back, ends    -> restored HOW  |  error REASON
///
/// The interface is given back when `in` ends (the connection closed, the sweep was killed), when
/// the lease runs out (the connection hangs), at SIGTERM, SIGINT and SIGQUIT, and when the process
/// that does all this is killed: it is a child in a session of its own, and its parent then gives
/// the interface back. If both are killed, the state file remains for finish().
int run_guard(const GuardOptions& options, int in, int out);

}  // namespace thinpipe
