// A command of anybody's, on an emulated host.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "netem/network.h"

namespace thinpipe {

/// Starts `command` (searched in PATH) on the host, with this process's standard streams and, in
/// its environment, THINPIPE_HOST (its own name) and THINPIPE_HOST_ADDRESSES ("host0=198.18.0.1
/// host1=..."). Stop signals do to it what they do to any program.
/// @returns its process number.
/// @throws InputError when there is no such program; SystemError when it cannot be started.
pid_t start_on_host(const Network& network, int host, const std::vector<std::string>& command);

/// Waits until it ends; a stop signal (stop_requested()) is passed on to it.
/// @returns its exit code, or 128 and the number of the signal that ended it, as a shell does.
int wait_for_process(pid_t process);

/// Makes the hosts' names (host0, ...) known to every program of this sandbox that looks names up
/// in /etc/hosts. Must run in a sandbox, whose folder is `scratch`.
/// @returns false where /etc/hosts cannot be covered; names are then unknown, addresses work.
bool name_hosts(const Network& network, const std::string& scratch);

}  // namespace thinpipe
