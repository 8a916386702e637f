// All measurements of `thinpipe net verify` on one link between two hosts.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "netem/link/link_spec.h"
#include "netem/network.h"
#include "netem/verify/datagrams.h"
#include "netem/verify/expected.h"
#include "netem/verify/shaper.h"
#include "netem/verify/streams.h"

namespace thinpipe {

enum class Measure { kGoodput, kRoundTrip, kLoss, kBurst, kChange, kTools };
using Measures = std::set<Measure>;

/// Returns "goodput", "rtt", "loss", "burst", "change" or "tools", in the order of measurement.
const std::string& measure_name(Measure measure);
/// Parses names separated by commas. @throws InputError naming an unknown name and all known names.
Measures parse_measures(const std::string& text);

/// The forward flow is from host 0 to host 1, the reverse flow from host 1 to host 0. A frame
/// crosses the sender's uplink and then the receiver's downlink.
inline constexpr Flow kForward{0, 1}, kReverse{1, 0};

struct DirectionGoodput {
  StreamFigures figures;
  double ceiling = 0;     ///< bit/s: LinkSpec::tcp_ceiling(); 0 without a rate
  double wire_ratio = 0;  ///< frame bytes counted by the sender's qdisc / expected frame bytes
  double deviation() const { return figures.goodput / ceiling - 1; }
};

struct GoodputReport {
  DirectionGoodput forward, reverse;            ///< one after the other
  DirectionGoodput both_forward, both_reverse;  ///< duplex: at the same time
  /// Goodput of host 0's uplink and downlink, if a link's directions differ. Host 1 has a faster
  /// link for these measurements, because between two hosts with the same link only the slower
  /// direction shows.
  std::optional<DirectionGoodput> up, down;
};

struct RoundTripReport {
  RoundTrips idle;
  RoundTrips beside_stream;        ///< while a TCP stream fills the forward path
  std::optional<RoundTrips> full;  ///< while datagrams keep the forward path's queue full
  QueueWait wait;                  ///< expected bufferbloat delay of that queue
  double set = 0;                  ///< RTT in s by the link's delays
  std::string full_not_measured;   ///< the reason, if `full` is missing
};

struct DirectionLoss {
  LossFigures figures;
  ShareInterval interval;  ///< confidence interval of the loss
};

struct LossReport {
  DirectionLoss forward, reverse;
  double expected = 0;  ///< fraction: expected_loss()
};

struct BurstReport {
  BurstFigures forward, reverse;
};

struct ToolReport {
  ToolFigure forward, reverse;              ///< iperf3
  ToolFigure round_trip;                    ///< ping
  double own_round_trip = 0;                ///< thinpipe's RTT of the idle link, s
  double own_forward = 0, own_reverse = 0;  ///< thinpipe's goodput, bit/s
};

struct LinkReport {
  LinkSpec link;  ///< with defaults
  std::optional<GoodputReport> goodput;
  std::optional<RoundTripReport> round_trip;
  std::optional<LossReport> loss;
  std::optional<BurstReport> burst;
  std::optional<ChangeFigures> change;
  std::optional<ToolReport> tools;
  /// Requested measures that are impossible on such a link, with the reason.
  std::vector<std::string> not_measured;
  /// Measures with invalid results, with the reason (Disturbance::reason()).
  std::map<Measure, std::string> disturbed;
  double seconds = 0;  ///< duration of all measurements
};

struct LinkReportOptions {
  Measures measures = {Measure::kGoodput, Measure::kRoundTrip, Measure::kLoss,
                       Measure::kBurst,   Measure::kChange,    Measure::kTools};
  double seconds = 1;  ///< duration of every measured stream and train of datagrams
  int pings = 100;
  /// Called with the next measurement and the approximate fraction that is done.
  std::function<void(const std::string& what, double fraction)> progress = [](const std::string&,
                                                                              double) {};
};

/// Creates two hosts with this link and measures the link. Call it in a sandbox without a Network.
/// @throws RunError when a stop was requested or a measurement failed.
LinkReport report_link(const LinkSpec& link, const LinkReportOptions& options = {});

/// Measures the current links of a network of two hosts, which were set to `link`. The measure
/// kChange sets the links anew.
LinkReport report_link_as_it_is(Network& network, const LinkSpec& link,
                                const LinkReportOptions& options = {});

}  // namespace thinpipe
