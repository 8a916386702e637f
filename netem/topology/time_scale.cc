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

// Timers of Linux' TCP, in s; net/ipv4/tcp_timer.c and include/net/tcp.h. All are real time.
constexpr double kRetransmission = 0.2;     // least wait before data is sent again, beyond the RTT
constexpr double kFirstRetransmission = 1;  // before the round trip was measured
constexpr double kDelayedAck = 0.04;        // a lone segment may wait so long for its ACK
// Time a hop of an emulated link takes by itself with ranks at work: measured by `net verify`, some
// 5 us on an idle machine and up to 100 us; timers end up to 50 us late.
constexpr double kMachineDelay = 1e-4;

std::chrono::nanoseconds stretched(std::chrono::nanoseconds time, double factor) {
  return std::chrono::nanoseconds(std::llround(static_cast<double>(time.count()) * factor));
}

void slow(Direction& direction, bool burst_is_ours, std::uint32_t frame_bytes, double factor) {
  direction.way.delay = stretched(direction.way.delay, factor);
  direction.way.jitter = stretched(direction.way.jitter, factor);
  if (direction.rate == 0) return;
  const double rate = std::round(direction.rate / factor / 8) * 8;  // kernels count whole bytes
  if (rate < kLowestLinkRate || rate > kHighestLinkRate)
    throw InputError(fmt::format(
        "time scale {}: a link of {} would be set to {}; expected 1 kbit/s to 100 Gbit/s", factor,
        format_rate(direction.rate), format_rate(rate)));
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
  for (int i = 0; factor != 1 && i < topology.links(); ++i) {
    if (!topology.link(i).throttled())
      add(
          fmt::format("links without a rate are as fast as this machine, which does not slow down: "
                      "they count as {} times as fast",
                      factor));
    for (const std::string& warning : time_scale_warnings(topology.link(i), factor)) add(warning);
  }
  return warnings;
}

std::vector<std::string> time_scale_warnings(const LinkSpec& link, double factor) {
  std::vector<std::string> warnings;
  if (factor == 1) return warnings;
  const double round_trip = link.round_trip();
  if (link.disturbs())
    warnings.push_back(
        fmt::format("frames are lost, delayed unevenly or reordered, and TCP's timers do not slow "
                    "down: it waits 200 ms and more before it sends again, which at time scale {} "
                    "counts as {}, and its window grows by real time",
                    factor, format_time(kRetransmission / factor)));
  if (round_trip > 0 && round_trip < kRetransmission && round_trip * factor >= kRetransmission)
    warnings.push_back(fmt::format(
        "the round trip of {} is set to {}, beyond the 200 ms after which TCP may send again",
        format_time(round_trip), format_time(round_trip * factor)));
  if (round_trip * factor >= kFirstRetransmission)
    warnings.push_back(
        fmt::format("the round trip is set to {}: TCP sends its first segments again after 1 s",
                    format_time(round_trip * factor)));
  if (factor < 1) {
    warnings.push_back(
        fmt::format("what the machine itself takes is not sped up: {} of a hop counts as {}, an "
                    "acknowledgement that is held back {} as {}",
                    format_time(kMachineDelay), format_time(kMachineDelay / factor),
                    format_time(kDelayedAck), format_time(kDelayedAck / factor)));
    if (link.throttled()) {
      const LinkSpec own = link.with_defaults(), set = slowed(link, factor);
      const double rate = link.rate();
      const auto bytes = std::max(set.up.burst, set.down.burst);
      if (bytes > std::max(own.up.burst, own.down.burst))
        warnings.push_back(
            fmt::format("its bucket must be {} at the rate that is set, which is {} of the link's "
                        "own rate: differences below that mean nothing",
                        format_bytes(bytes), format_time(bytes * 8 / rate)));
    }
  }
  return warnings;
}

}  // namespace thinpipe
