// A real interface: what it carries that must not be throttled by accident, and what of a link can
// be set on it.
#pragma once

#include <string>
#include <vector>

#include "netem/link/link_spec.h"

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

/// Why this link cannot be set on a real interface; "" when it can. One that can has a rate, the
/// same both ways, and perhaps burst, queue and shaper=htb: what leaves every host is shaped there,
/// which shapes both directions between any two. Whatever else a link may have needs the receiving
/// side, frames one by one (the card's offloads switched off), or the card's MTU: not touched here.
std::string why_not_on_a_card(const LinkSpec& link);

/// Puts the link in the place of the interface's root qdisc: full buckets, empty queues, counters
/// from 0. @throws InputError as above; RunError when the kernel did not take it.
void throttle_card(const std::string& interface, const LinkSpec& link);

/// Drift from what throttle_card() set, in words.
std::vector<std::string> card_alterations(const std::string& interface, const LinkSpec& link);

}  // namespace thinpipe
