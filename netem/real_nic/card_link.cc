#include "netem/real_nic/card_link.h"

#include <fmt/format.h>

#include "base/error.h"
#include "netem/netlink.h"
#include "netem/shaping.h"

namespace thinpipe {

std::string why_not_on_a_card(const LinkSpec& link) {
  const LinkSpec plain;
  if (!link.up.way.none() || !link.down.way.none() || link.needs_single_frames())
    return "on a real interface only rate, burst, queue and shaper=htb can be set";
  if (link.up.rate == 0 || link.up != link.down)
    return "a real interface is throttled to one rate, the same both ways";
  if (link.place != plain.place) return "place=switch needs the switch, which is not ours";
  if (link.mtu != plain.mtu) return "the MTU of a real interface is left as it is";
  return "";
}

void throttle_card(const std::string& interface, const LinkSpec& link) {
  if (const std::string reason = why_not_on_a_card(link); !reason.empty())
    throw InputError(fmt::format("link '{}': {}", link.to_string(), reason));
  Netlink netlink;
  install(netlink, interface, shaping_of(link).host);
}

std::vector<std::string> card_alterations(const std::string& interface, const LinkSpec& link) {
  Netlink netlink;
  return differences(netlink, interface, shaping_of(link).host);
}

}  // namespace thinpipe
