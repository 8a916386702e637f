// What an interface carries that must not be throttled by accident.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

/// Addresses at the other end of the connections that this process is controlled through: those of
/// SSH_CONNECTION (the ssh client) and SLURM_LAUNCH_NODE_IPADDR (where srun is), as far as set.
std::vector<std::string> controlling_addresses();

/// Why the interface should not be throttled: one line for each default route (IPv4 and IPv6, of
/// any table) and each route to an address of `controllers` that goes out through it, directly or
/// as a part of a bond, bridge or VLAN. An address of this machine itself burdens nothing. Empty:
/// nothing speaks against it.
/// @throws InputError for what is no IP address; RunError when the kernel cannot be asked.
std::vector<std::string> burdens_of(const std::string& interface,
                                    const std::vector<std::string>& controllers);

}  // namespace thinpipe
