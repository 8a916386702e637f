#include "netem/topology/time_scale.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>

#include "base/error.h"
#include "base/units.h"
#include "netem/topology/flows.h"

namespace thinpipe {
namespace {

// Timers of Linux' TCP, in s (net/ipv4/tcp_timer.c, include/net/tcp.h). All run in real time.
constexpr double kRetransmission = 0.2;     // minimum retransmission timeout, beyond the RTT
constexpr double kFirstRetransmission = 1;  // initial retransmission timeout
constexpr double kDelayedAck = 0.04;        // longest delayed ACK of a single segment
// Delay that the machine adds to each hop of an emulated link while ranks work. `net verify`
// measures some 5 us on an idle machine and up to 100 us. Timers expire up to 50 us late.
constexpr double kMachineDelay = 1e-4;

std::chrono::nanoseconds dilated(std::chrono::nanoseconds time, double factor) {
  return std::chrono::nanoseconds(std::llround(static_cast<double>(time.count()) * factor));
}

void check_dilated(const char* what, std::chrono::nanoseconds time, double longest, double factor) {
  if (const double seconds = std::chrono::duration<double>(time).count(); seconds > longest)
    throw InputError(fmt::format("time scale {}: a {} of {} becomes {} (allowed: at most {})",
                                 factor, what, format_time(seconds / factor), format_time(seconds),
                                 format_time(longest)));
}

void slow(Direction& direction, bool burst_is_ours, std::uint32_t frame_bytes, double factor) {
  direction.impairment.delay = dilated(direction.impairment.delay, factor);
  direction.impairment.jitter = dilated(direction.impairment.jitter, factor);
  check_dilated("delay", direction.impairment.delay, kLongestLinkDelay, factor);
  check_dilated("jitter", direction.impairment.jitter, kLongestLinkJitter, factor);
  if (direction.rate == 0) return;
  const double rate = std::round(direction.rate / factor / 8) * 8;  // kernels count whole bytes
  if (rate < kLowestLinkRate || rate > kHighestLinkRate)
    throw InputError(
        fmt::format("time scale {}: a link of {} becomes {} (allowed: 1 kbit/s to 100 Gbit/s)",
                    factor, format_rate(direction.rate), format_rate(rate)));
  direction.rate = rate;
  if (burst_is_ours && direction.shaper != Shaper::kNetem)
    direction.burst = std::max(direction.burst, default_burst(rate, static_cast<int>(frame_bytes)));
}

}  // namespace

LinkSpec slowed(const LinkSpec& link, double factor) {
  if (factor == 1) return link;
  LinkSpec slow_link = link.with_defaults();
  slow(slow_link.up, link.up.burst == 0, link.frame_bytes(), factor);
  slow(slow_link.down, link.down.burst == 0, link.frame_bytes(), factor);
  return slow_link;
}

Topology slowed(Topology topology, double factor) {
  if (factor == 1) return topology;
  for (int i = 0; i < topology.links(); ++i) {
    LinkSpec& link = topology.link(i);
    try {
      link = slowed(topology.is_trunk(i) ? as_trunk(link) : link, factor);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}: {}", topology.link_name(i), error.what()));
    }
  }
  return topology;
}

std::vector<std::string> time_scale_warnings(const Topology& topology, double factor) {
  std::vector<std::string> warnings;
  const auto add = [&](const std::string& warning) {
    if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end())
      warnings.push_back(warning);
  };
  if (factor == 1) return warnings;
  for (const LinkSpec& link : links_as_set(topology)) {
    if (!link.throttled())
      add(
          fmt::format("links without a rate are as fast as this machine, which time dilation does "
                      "not slow down, so they count as {} times as fast",
                      factor));
    for (const std::string& warning : time_scale_warnings(link, factor)) add(warning);
  }
  return warnings;
}

std::vector<std::string> time_scale_warnings(const LinkSpec& link, double factor) {
  std::vector<std::string> warnings;
  if (factor == 1) return warnings;
  const double round_trip = link.round_trip();
  if (link.disturbs())
    warnings.push_back(fmt::format(
        "the link loses, reorders or unevenly delays frames, and TCP's timers run in "
        "real time. The minimum retransmission timeout of 200 ms counts as {} at time scale {}, "
        "and the congestion window grows in real time",
        format_time(kRetransmission / factor), factor));
  if (round_trip > 0 && round_trip < kRetransmission && round_trip * factor >= kRetransmission)
    warnings.push_back(fmt::format(
        "the round trip of {} becomes {}, beyond the 200 ms after which TCP may retransmit",
        format_time(round_trip), format_time(round_trip * factor)));
  if (round_trip * factor >= kFirstRetransmission)
    warnings.push_back(
        fmt::format("the round trip becomes {}, but TCP retransmits its first segments after 1 s",
                    format_time(round_trip * factor)));
  if (factor < 1) {
    warnings.push_back(
        fmt::format("the machine's own delays stay as they are: {} of a hop counts as {}, a "
                    "delayed ACK of {} as {}",
                    format_time(kMachineDelay), format_time(kMachineDelay / factor),
                    format_time(kDelayedAck), format_time(kDelayedAck / factor)));
    if (link.throttled()) {
      const LinkSpec own = link.with_defaults(), set = slowed(link, factor);
      const double rate = link.rate();
      const auto bytes = std::max(set.up.burst, set.down.burst);
      if (bytes > std::max(own.up.burst, own.down.burst))
        warnings.push_back(
            fmt::format("the token-bucket depth must be {} at the dilated rate, which is {} of the "
                        "link's own rate. Differences below that mean nothing",
                        format_bytes(bytes), format_time(bytes * 8 / rate)));
    }
  }
  return warnings;
}

}  // namespace thinpipe
