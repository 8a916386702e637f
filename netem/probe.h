// Finds what this machine offers for emulation: the kernel's features, which are tried in a
// throwaway sandbox, this process's capabilities, and the system limits that many emulated hosts
// reach.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "netem/link/link_spec.h"

namespace thinpipe {

/// A feature that the kernel may or may not offer.
struct KernelFeature {
  bool available = false;
  std::string detail;  ///< how it was tested, or why it is absent and what to enable
};

/// Results of probe_kernel(), which creates each interface and qdisc in temporary namespaces.
struct KernelFeatures {
  KernelFeature namespaces;  ///< user (as an ordinary user), network, UTS, PID and mount namespaces
  KernelFeature veth, bridge, ifb;
  KernelFeature tbf, htb, netem;  ///< queueing disciplines
};

/// Tries every feature. Never throws for an absent feature. Leaves nothing behind.
KernelFeatures probe_kernel();

/// Returns why a kernel with these features cannot set this link: the missing feature, how to get
/// it, and which links work without it. "" if the link can be set.
std::string missing_for(const LinkSpec& link, const KernelFeatures& features);

/// Checks that the links can be set: that the files of their distributions can be read, and that
/// this kernel has the features. Probes only if a link needs more than TBF.
/// @throws InputError as table_of() does; RunError with missing_for() of the first link that cannot
/// be set.
void require_kernel_features(const std::vector<LinkSpec>& links);

// Capabilities and limits.

/// Returns which of CAP_NET_ADMIN and CAP_SYS_ADMIN are not effective in the calling thread.
std::vector<std::string> missing_rights();

/// Returns advice to append to an error's text: the missing capabilities, their use, and a remedy;
/// "" if none is missing. Call it only in a sandbox or as root, since an ordinary user has the
/// capabilities in a user namespace only.
std::string rights_advice();

/// Raises the soft limit of open files (RLIMIT_NOFILE) of this process and its children to `files`
/// plus a reserve for files that are already open. Does not raise it further, because programs that
/// close all descriptors at startup are slow with a limit of millions.
/// @param what  the reason why the files are needed, such as "64 emulated hosts"
/// @throws RunError naming the need and the hard limit, if the hard limit is lower.
void allow_open_files(std::uint64_t files, const std::string& what);

/// Raises the soft limit of this user's processes and threads (RLIMIT_NPROC) to the hard limit.
void allow_processes();

/// Checks whether this user and the control group may have `tasks` processes and threads. If not,
/// returns the lower of the two limits with its name: "the limit of processes and threads is 200
/// (ulimit -u)". Otherwise returns "".
std::string process_limit_below(std::uint64_t tasks);

}  // namespace thinpipe
