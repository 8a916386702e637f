// The capabilities without which no network can be emulated, and the limits of the system that many
// emulated hosts meet.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace thinpipe {

/// Those of CAP_NET_ADMIN and CAP_SYS_ADMIN that are not effective in the calling thread.
std::vector<std::string> missing_rights();

/// For the end of an error's text: which of them are missing, what for, and what to do; "" when
/// none is. Only in a sandbox, or for root: an ordinary user gets them in a user namespace.
std::string rights_advice();

/// Raises this process's soft limit of open files (RLIMIT_NOFILE), and thereby that of what it
/// starts, as far as `files` need, beside some for what it has open already. No further: programs
/// that close everything when they start take long over a limit of millions.
/// @param what  needs them, as in "64 emulated hosts"
/// @throws RunError naming what is needed and the hard limit, when that is lower.
void allow_open_files(std::uint64_t files, const std::string& what);

/// Raises the soft limit of processes and threads of this user (RLIMIT_NPROC) to the hard one.
void allow_processes();

/// The lower one of this user's limit of processes and threads and of the control group's, with its
/// name, when it is below `tasks`: as in "the limit of processes and threads is 200 (ulimit -u)".
/// Otherwise "".
std::string process_limit_below(std::uint64_t tasks);

}  // namespace thinpipe
