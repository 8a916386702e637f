#include "netem/shaped_link.h"

#include <fmt/format.h>

namespace thinpipe {

ShapedLink::ShapedLink(LinkEnd lower, LinkEnd upper, int number)
    : lower_(std::move(lower)),
      upper_(std::move(upper)),
      stream_(static_cast<std::uint64_t>(number)),
      way_up_(fmt::format("up{}", number)) {}

void ShapedLink::set(const LinkSpec& link, std::uint32_t segments) {
  const LinkShaping shaping = shaping_of(link, stream_);
  link_ = link;
  set_frames(link.mtu, segments);
  install(*lower_.netlink, lower_.interface, shaping.host);
  set_way_up(shaping.way_up);
  install(*upper_.netlink, upper_.interface, shaping.port);
}

void ShapedLink::set_frames(std::uint32_t mtu, std::uint32_t segments) {
  // The kernel is asked what they are: somebody may have changed them.
  for (const LinkEnd& end : {lower_, upper_})
    if (!end.netlink->frame_limits_difference(end.interface, mtu, segments).empty())
      end.netlink->set_frame_limits(end.interface, mtu, segments);
  mtu_ = mtu;
  segments_ = segments;
}

void ShapedLink::set_way_up(const std::optional<Shaping>& shaping) {
  Netlink& netlink = *upper_.netlink;
  if (shaping && !redirected_) {
    netlink.add_link(way_up_, "ifb");
    netlink.set_up(way_up_);
  }
  if (shaping) {
    netlink.set_frame_limits(way_up_, mtu_, segments_);
    install(netlink, way_up_, *shaping);
  }
  if (shaping && !redirected_) netlink.redirect_arrivals(upper_.interface, way_up_);
  if (!shaping && redirected_) {
    netlink.stop_redirecting(upper_.interface);
    netlink.delete_link(way_up_);  // takes the kernel some 20 ms: one that is needed again stays
  }
  redirected_ = shaping.has_value();
}

std::string ShapedLink::interruption() const {
  std::string text;
  for (const LinkEnd& end : {lower_, upper_}) {
    const char* what = !end.netlink->exists(end.interface)  ? "is gone"
                       : !end.netlink->is_up(end.interface) ? "is down"
                                                            : nullptr;
    if (what != nullptr)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", end.interface, what);
  }
  return text;
}

std::vector<std::string> ShapedLink::alterations() const {
  if (const std::string gone = interruption(); !gone.empty()) return {gone};
  const LinkShaping shaping = shaping_of(link_, stream_);
  std::vector<std::string> found;
  const auto look = [&](Netlink& netlink, const std::string& interface, const Shaping& set) {
    for (std::string& one : differences(netlink, interface, set)) found.push_back(std::move(one));
    const std::string frames = netlink.frame_limits_difference(interface, mtu_, segments_);
    if (!frames.empty()) found.push_back(frames);
  };
  look(*lower_.netlink, lower_.interface, shaping.host);
  if (shaping.way_up) look(*upper_.netlink, way_up_, *shaping.way_up);
  look(*upper_.netlink, upper_.interface, shaping.port);
  return found;
}

LinkCounters ShapedLink::counters() const {
  return {lower_.netlink->root_counters(lower_.interface),
          upper_.netlink->root_counters(upper_.interface),
          redirected_ ? upper_.netlink->root_counters(way_up_) : QdiscCounters{}};
}

}  // namespace thinpipe
