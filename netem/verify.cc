#include "netem/verify.h"

#include <fmt/format.h>

#include "base/error.h"
#include "netem/sandbox.h"
#include "netem/verify/link_report.h"

namespace thinpipe {

LinkCheck verify_link(Network& network, const LinkSpec& link, const VerifyOptions& options) {
  LinkCheck check;
  check.link = link.with_defaults();
  if (!link.throttled())
    throw InputError(fmt::format(
        "link '{}' has no rate that could be verified (such as rate=100mbit)", link.to_string()));
  check.ceiling = link.tcp_ceiling();
  check.round_trip_set = link.round_trip();
  network.set_links(link);
  const RoundTrips trips = measure_round_trips(network, kThere, idle_probes(link, options.pings));
  if (trips.lost == trips.sent)
    throw RunError(fmt::format("link '{}': no probe came back", link.to_string()));
  check.probes_lost = trips.lost;
  check.round_trip = trips.median;
  check.round_trip_p95 = trips.p95;

  const std::uint64_t counted_before = network.counters(0).up.bytes;
  const MeasuredStreams measured = run_streams(
      network, link, {kThere},
      {.seconds = options.seconds, .settle = options.settle, .windows = options.windows});
  const StreamFigures& stream = measured.streams[0];
  check.machine = measured.machine;
  check.goodput = stream.goodput;
  check.goodput_low = stream.low;
  check.goodput_high = stream.high;
  const double needed = stream.payload * link.frame_bytes() / link.payload_bytes();
  check.wire_ratio = static_cast<double>(network.counters(0).up.bytes - counted_before) / needed;
  return check;
}

}  // namespace thinpipe
