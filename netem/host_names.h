// The names of emulated hosts, for programs that know nothing of thinpipe.
#pragma once

#include <string>

#include "netem/network.h"

namespace thinpipe {

/// Makes the hosts' names (host0, ...) known to every program of this sandbox that looks names up
/// in /etc/hosts. Must run in a sandbox, whose folder is `scratch`.
/// @returns false where /etc/hosts cannot be covered; names are then unknown, addresses work.
bool name_hosts(const Network& network, const std::string& scratch);

/// "host0=198.18.0.1 host1=198.18.0.2 ...".
std::string host_addresses(const Network& network);

}  // namespace thinpipe
