// Everything `thinpipe net verify` finds out about one link between two hosts.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "netem/link/link_spec.h"
#include "netem/network.h"
#include "netem/verify/burst_credit.h"
#include "netem/verify/change_latency.h"
#include "netem/verify/expected.h"
#include "netem/verify/loss.h"
#include "netem/verify/round_trip.h"
#include "netem/verify/streams.h"
#include "netem/verify/tools.h"

namespace thinpipe {

enum class Measure { kGoodput, kRoundTrip, kLoss, kBurst, kChange, kTools };
using Measures = std::set<Measure>;

/// "goodput", "rtt", "loss", "burst", "change", "tools": in the order in which they are measured.
const std::string& measure_name(Measure measure);
/// Names with commas between. @throws InputError naming the unknown one and all that there are.
Measures parse_measures(const std::string& text);

/// From host 0 to host 1, and from host 1 to host 0. A frame crosses the sender's way up and then
/// the receiver's way down.
inline constexpr Flow kThere{0, 1}, kBack{1, 0};

struct GoodputWay {
  StreamFigures figures;
  double ceiling = 0;     ///< bit/s: ceiling_beside_acks(); 0 without a rate
  double wire_ratio = 0;  ///< frame bytes the sender's qdisc counted / those that should have been
  double deviation() const { return figures.goodput / ceiling - 1; }
};

struct GoodputReport {
  GoodputWay there, back;            ///< one after the other
  GoodputWay both_there, both_back;  ///< at once
  /// Where a link's directions differ: each of host 0's against a wider one of host 1's, because
  /// between two hosts with the same link only the slower shows.
  std::optional<GoodputWay> up, down;
};

struct RoundTripReport {
  RoundTrips idle;
  RoundTrips beside_stream;        ///< while a TCP stream fills the way there
  std::optional<RoundTrips> full;  ///< while datagrams keep the queue on the way there full
  QueueWait wait;                  ///< what that queue makes of it
  double set = 0;                  ///< s, of the link's delays
  std::string full_not_measured;   ///< why `full` is missing
};

struct LossWay {
  LossFigures figures;
  ShareInterval interval;  ///< of the share lost
};

struct LossReport {
  LossWay there, back;
  double expected = 0;  ///< share: expected_loss()
};

struct BurstReport {
  BurstFigures there, back;
};

struct ToolReport {
  ToolFigure there, back;              ///< iperf3
  ToolFigure round_trip;               ///< ping
  double own_round_trip = 0;           ///< s, the idle link's as we measured it
  double own_there = 0, own_back = 0;  ///< bit/s
};

struct LinkReport {
  LinkSpec link;  ///< with defaults
  std::optional<GoodputReport> goodput;
  std::optional<RoundTripReport> round_trip;
  std::optional<LossReport> loss;
  std::optional<BurstReport> burst;
  std::optional<ChangeFigures> change;
  std::optional<ToolReport> tools;
  /// Requested measures that such a link does not allow, with the reason.
  std::vector<std::string> not_measured;
  /// Measures that are not valid, with why (Disturbance::reason()): what they found says nothing.
  std::map<Measure, std::string> disturbed;
  double seconds = 0;  ///< that all of it took
};

struct LinkReportOptions {
  Measures measures = {Measure::kGoodput, Measure::kRoundTrip, Measure::kLoss,
                       Measure::kBurst,   Measure::kChange,    Measure::kTools};
  double seconds = 1;  ///< of every stream and train of datagrams that is measured
  int pings = 100;
  /// Hears what begins, and about what share of all is over by then.
  std::function<void(const std::string& what, double share)> progress = [](const std::string&,
                                                                           double) {};
};

/// Makes two hosts with this link and measures it. Within a sandbox in which there is no network.
/// @throws RunError when a stop was asked for or something broke.
LinkReport report_link(const LinkSpec& link, const LinkReportOptions& options = {});

/// The same on a network of two hosts whose links were set to `link`, as they are now. Measuring
/// the latency of changes sets them anew.
LinkReport report_link_as_it_is(Network& network, const LinkSpec& link,
                                const LinkReportOptions& options = {});

}  // namespace thinpipe
