#include "netem/link/shaping.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/splitmix64.h"
#include "netem/link/qdisc.h"

namespace thinpipe {
namespace {

constexpr std::uint32_t kCountingQueue = 16'000'000;  // bytes, limit of an unthrottled bfifo
constexpr std::uint32_t kRoot = 0xffffffff;
constexpr std::uint32_t kRootHandle = 0x10000;  // 1:
constexpr std::uint32_t kFirstClass = 0x10001;  // 1:1, the only class of TBF and of HTB
constexpr std::uint32_t kLeafHandle = 0x20000;  // 2:
constexpr double kMaxFrames = 4e6;              // 6 GB of full frames
constexpr std::uint32_t kMinFrames = 1000;      // netem's own default
constexpr double kJitters = 4;                  // the distribution tables end at 4 jitter
constexpr std::uint32_t kMinQuantum = 1000, kMaxQuantum = 200000;  // HTB warns outside

ShapingStep root(QdiscRequest request) { return {{kRoot, kRootHandle}, std::move(request)}; }
ShapingStep leaf(QdiscRequest request) { return {{kFirstClass, kLeafHandle}, std::move(request)}; }

QdiscRequest netem_of(const Direction& direction, const std::optional<std::uint64_t>& seed,
                      std::uint32_t limit) {
  NetemSettings settings;
  settings.impairment = direction.impairment;
  if (direction.shaper == Shaper::kNetem) {
    settings.rate = bytes_per_second(direction.rate);
    settings.overhead = direction.overhead;
  }
  settings.limit = limit;
  if (direction.impairment.jitter.count() > 0) settings.table = table_of(direction.impairment);
  settings.seed = seed;
  return netem_request(settings);
}

// Returns an HTB whose leaf is the queue `waiting`. (TBF brings its own queue.)
Shaping htb_with(const Direction& direction, const LinkSpec& link, QdiscRequest waiting) {
  const std::uint32_t quantum = std::clamp(10 * link.frame_bytes(), kMinQuantum, kMaxQuantum);
  return {root(htb_request()),
          {{kRootHandle, kFirstClass},
           htb_class_request({.rate = bytes_per_second(direction.rate),
                              .burst = direction.burst,
                              .quantum = quantum,
                              .overhead = direction.overhead})},
          leaf(std::move(waiting))};
}

Shaping chain(const Direction& direction, const LinkSpec& link,
              const std::optional<std::uint64_t>& seed) {
  const bool impaired = !direction.impairment.none();
  const std::uint32_t limit = netem_limit(direction, link.frame_bytes());
  if (direction.rate == 0 && !impaired) return {root(fifo_request(kCountingQueue))};
  if (direction.rate == 0 || direction.shaper == Shaper::kNetem)
    return {root(netem_of(direction, seed, limit))};
  if (direction.shaper == Shaper::kHtb)
    return htb_with(direction, link,
                    impaired ? netem_of(direction, seed, limit) : fifo_request(direction.queue));
  Shaping shaping = {root(tbf_request({.rate = bytes_per_second(direction.rate),
                                       .burst = direction.burst,
                                       .limit = direction.queue,
                                       .overhead = direction.overhead}))};
  if (impaired) shaping.push_back(leaf(netem_of(direction, seed, limit)));
  return shaping;
}

}  // namespace

std::optional<std::uint64_t> netem_seed(const LinkSpec& link, std::uint64_t stream, bool up) {
  if (!link.seed) return std::nullopt;
  return SplitMix64::mix(SplitMix64::mix(*link.seed) + 2 * stream + (up ? 0 : 1));
}

std::uint32_t netem_limit(const Direction& direction, std::uint32_t frame_bytes) {
  const double rate = direction.rate > 0 ? direction.rate : kHighestLinkRate;
  const Impairment& impairment = direction.impairment;
  const double seconds = in_seconds(impairment.delay + impairment.jitter * kJitters);
  const double frames = std::ceil(rate * seconds / (8.0 * frame_bytes)) +
                        std::ceil(static_cast<double>(direction.queue) / frame_bytes);
  return std::max(direction.rate > 0 ? 1U : kMinFrames,
                  static_cast<std::uint32_t>(std::min(frames, kMaxFrames)));
}

LinkShaping shaping_of(const LinkSpec& link, std::uint64_t stream) {
  const LinkSpec filled = link.with_defaults();
  const std::uint32_t frame = filled.frame_bytes();
  const auto seed_up = netem_seed(filled, stream, true);
  const auto seed_down = netem_seed(filled, stream, false);
  Direction shaper = filled.up;
  shaper.impairment = {};
  LinkShaping result;
  result.port = chain(filled.down, filled, seed_down);
  if (filled.place == Place::kSwitch) {
    result.host = chain(Direction{}, filled, seed_up);
    result.uplink = chain(filled.up, filled, seed_up);
  } else {
    result.host = chain(shaper, filled, seed_up);
    if (!filled.up.impairment.none()) {
      Direction unshaped;
      unshaped.impairment = filled.up.impairment;
      // The limit counts frames at the uplink's rate, since the sender's shaper passes no more.
      result.uplink = {root(netem_of(unshaped, seed_up, netem_limit(filled.up, frame)))};
    }
  }
  return result;
}

void install(Netlink& netlink, const std::string& interface, const Shaping& shaping) {
  netlink.delete_root_qdisc(interface);
  for (const auto& [at, request] : shaping) netlink.set_qdisc(interface, at, request);
}

std::vector<std::string> differences(Netlink& netlink, const std::string& interface,
                                     const Shaping& shaping) {
  std::vector<std::string> found;
  for (const auto& [at, request] : shaping)
    if (std::string one = netlink.qdisc_difference(interface, at, request); !one.empty())
      found.push_back(std::move(one));
  return found;
}

ShapedLink::ShapedLink(LinkEnd lower, LinkEnd upper, int number)
    : lower_(std::move(lower)),
      upper_(std::move(upper)),
      stream_(static_cast<std::uint64_t>(number)),
      uplink_(fmt::format("up{}", number)) {}

void ShapedLink::set(const LinkSpec& link, std::uint32_t segments) {
  const LinkShaping shaping = shaping_of(link, stream_);
  link_ = link;
  set_frames(link.mtu, segments);
  install(*lower_.netlink, lower_.interface, shaping.host);
  set_uplink(shaping.uplink);
  install(*upper_.netlink, upper_.interface, shaping.port);
}

void ShapedLink::set_frames(std::uint32_t mtu, std::uint32_t segments) {
  // Reads the kernel's values first, since somebody may have changed them.
  for (const LinkEnd& end : {lower_, upper_})
    if (!end.netlink->frame_limits_difference(end.interface, mtu, segments).empty())
      end.netlink->set_frame_limits(end.interface, mtu, segments);
  mtu_ = mtu;
  segments_ = segments;
}

void ShapedLink::set_uplink(const std::optional<Shaping>& shaping) {
  Netlink& netlink = *upper_.netlink;
  if (shaping && !redirected_) {
    // The IFB exists already if the kernel refused a later setting of an earlier set().
    if (!netlink.exists(uplink_)) netlink.add_link(uplink_, "ifb");
    netlink.set_up(uplink_);
  }
  if (shaping) {
    netlink.set_frame_limits(uplink_, mtu_, segments_);
    install(netlink, uplink_, *shaping);
  }
  if (shaping && !redirected_) netlink.redirect_arrivals(upper_.interface, uplink_);
  if (!shaping && redirected_) {
    netlink.stop_redirecting(upper_.interface);
    netlink.delete_link(uplink_);  // takes some 20 ms, so an IFB that is still needed stays
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

std::vector<std::string> ShapedLink::drift() const {
  if (const std::string gone = interruption(); !gone.empty()) return {gone};
  const LinkShaping shaping = shaping_of(link_, stream_);
  std::vector<std::string> found;
  const auto look = [&](Netlink& netlink, const std::string& interface, const Shaping& set) {
    for (std::string& one : differences(netlink, interface, set)) found.push_back(std::move(one));
    const std::string frames = netlink.frame_limits_difference(interface, mtu_, segments_);
    if (!frames.empty()) found.push_back(frames);
  };
  look(*lower_.netlink, lower_.interface, shaping.host);
  if (shaping.uplink) look(*upper_.netlink, uplink_, *shaping.uplink);
  look(*upper_.netlink, upper_.interface, shaping.port);
  return found;
}

LinkCounters ShapedLink::counters() const {
  return {lower_.netlink->root_counters(lower_.interface),
          upper_.netlink->root_counters(upper_.interface),
          redirected_ ? upper_.netlink->root_counters(uplink_) : QdiscCounters{}};
}

}  // namespace thinpipe
