// The capabilities that emulation needs, and the system limits that many emulated hosts reach.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thinpipe {

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
