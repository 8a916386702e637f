// Limits of the system that many emulated hosts meet.
#pragma once

#include <cstdint>
#include <string>

namespace thinpipe {

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
