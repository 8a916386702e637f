// What of a link can be set on a real interface.
#pragma once

#include <string>
#include <vector>

#include "netem/link_spec.h"

namespace thinpipe {

/// Why this link cannot be set on a real interface; "" when it can. One that can has a rate, the
/// same both ways, and perhaps burst, queue and shaper=htb: what leaves every host is shaped there,
/// which shapes both directions between any two. Whatever else a link may have needs the receiving
/// side, frames one by one (the card's offloads switched off), or the card's MTU: not touched here.
std::string why_not_on_a_card(const LinkSpec& link);

/// Puts the link in the place of the interface's root qdisc: full buckets, empty queues, counters
/// from 0. @throws InputError as above; RunError when the kernel did not take it.
void throttle_card(const std::string& interface, const LinkSpec& link);

/// What of that the kernel does not have any more, in words.
std::vector<std::string> card_alterations(const std::string& interface, const LinkSpec& link);

}  // namespace thinpipe
