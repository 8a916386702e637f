#include "netem/verify/link_report.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "netem/verify/judge.h"
#include "netem/verify/round_trip.h"

namespace thinpipe {

namespace {

constexpr double kOverload = 1.25;           // of the rate, to keep a queue full
constexpr double kLongestQueue = 4;          // s; a longer one is not filled
constexpr double kBesideShare = 0.02;        // of the rate may be probes beside a stream
constexpr double kSettle = 0.5;              // s, of a stream before it is measured
constexpr double kSettleBehindSwitch = 1.5;  // s likewise
constexpr double kSettleBoth = 0.7;          // s more
// s of the rate that each of two senders may have on its way: a stream fills the link with a window
// of both senders' queues, since acknowledgements wait behind data.
constexpr double kBothBuffer = 0.4;
// A window that left slow start too early takes seconds to get there: so many attempts, each of
// which settles so many s longer. A link that delivers less fails all of them.
constexpr int kBothAttempts = 3;
constexpr double kSettleMoreEachAttempt = 1.5;
constexpr double kLossSeconds = 0.75;  // of `seconds` is each way's train
constexpr int kPings = 20;             // of the tool
constexpr double kWider = 8;           // times the link's own rate is what does not limit it
constexpr double kFastest = 100e9;     // bit/s: what a link can be

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

// About how long a measure takes, for those who wait.
double expected_seconds(Measure measure, const LinkReportOptions& options) {
  switch (measure) {
    case Measure::kGoodput:
      return 3 * (options.seconds + kSettle) + kSettleBoth;
    case Measure::kRoundTrip:
      return 3;
    case Measure::kLoss:
      return 2 * (kLossSeconds * options.seconds + kSettle);
    case Measure::kBurst:
      return 1;
    case Measure::kChange:
      return 2;
    case Measure::kTools:
      return 2 * options.seconds + 5;
  }
  return 0;
}

class Reporter {
 public:
  Reporter(Network& network, const LinkSpec& link, const LinkReportOptions& options)
      : network_(network), link_(link.with_defaults()), options_(options) {
    for (const Measure measure : options_.measures) all_ += expected_seconds(measure, options_);
  }

  LinkReport run() {
    report_.link = link_;
    const auto wanted = [&](Measure measure) { return options_.measures.contains(measure); };
    if (wanted(Measure::kGoodput)) report_.goodput = goodput();
    if (wanted(Measure::kRoundTrip))
      watch(Measure::kRoundTrip, report_.round_trip, [&] { report_.round_trip = round_trip(); });
    if (wanted(Measure::kLoss)) watch(Measure::kLoss, report_.loss, [&] { report_.loss = loss(); });
    if (wanted(Measure::kBurst)) watch(Measure::kBurst, report_.burst, [&] { burst(); });
    if (wanted(Measure::kTools)) report_.tools = tools();  // which are not judged
    // Last: it replaces the shapers.
    if (wanted(Measure::kChange)) watch(Measure::kChange, report_.change, [&] { change(); });
    return std::move(report_);
  }

 private:
  // `found` is what `run` leaves when it could measure it.
  template <class Found, class Run>
  void watch(Measure measure, const std::optional<Found>& found, const Run& run) {
    MachineWatch watch;
    run();
    const Disturbance machine = watch.stop();
    if (found) note(measure, machine);
  }

  void note(Measure measure, const Disturbance& machine) {
    if (const std::string reason = machine.reason(); !reason.empty())
      report_.disturbed.try_emplace(measure, reason);
  }

  // Begins a step that takes this share of the measure.
  void begin(Measure measure, double share, const std::string& what) {
    options_.progress(what, over_ / all_);
    over_ += share * expected_seconds(measure, options_);
  }

  // Where a switch's port drops what does not fit, slow start ends in losses, and TCP needs a while
  // to come back; where acknowledgements wait behind data, it grows more slowly.
  TcpStreamOptions streams(bool both, int attempt) const {
    TcpStreamOptions streams{.seconds = options_.seconds,
                             .settle = drops_at_switch(link_) ? kSettleBehindSwitch : kSettle};
    if (!both || !link_.throttled()) return streams;
    streams.settle += kSettleBoth + attempt * kSettleMoreEachAttempt;
    streams.buffer = kBothBuffer;
    return streams;
  }

  double counted(int host) const { return static_cast<double>(network_.counters(host).up.bytes); }

  // Streams over the given ways at once.
  std::vector<GoodputWay> ways(const std::vector<Flow>& flows, int attempt = 0) {
    std::vector<double> before;
    for (const Flow& flow : flows) before.push_back(counted(flow.from));
    const MeasuredStreams measured =
        run_streams(network_, link_, flows, streams(flows.size() > 1, attempt));
    const std::vector<StreamFigures>& figures = measured.streams;
    // Without a rate the machine is what is measured, and streams take all of it.
    if (link_.throttled()) note(Measure::kGoodput, measured.machine);
    std::vector<GoodputWay> found;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      GoodputWay way{figures[i], 0, 0};
      const StreamFigures other = flows.size() > 1 ? figures[1 - i] : StreamFigures{};
      way.ceiling = ceiling_beside_acks(link_, other.acks);
      const double needed = way.figures.payload * link_.frame_bytes() / link_.payload_bytes() +
                            other.all_acks * kAckFrame;
      way.wire_ratio = (counted(flows[i].from) - before[i]) / needed;
      found.push_back(way);
    }
    return found;
  }

  GoodputReport goodput() {
    begin(Measure::kGoodput, 0.3, "goodput there");
    GoodputReport report;
    report.there = ways({kThere})[0];
    begin(Measure::kGoodput, 0.3, "goodput back");
    report.back = ways({kBack})[0];
    begin(Measure::kGoodput, 0.4, "goodput both ways at once");
    const auto is_low = [](const GoodputWay& way) { return way.deviation() < -kCeilingTolerance; };
    const bool may_gain = link_.throttled() && !link_.disturbs() && !drops_at_switch(link_) &&
                          !is_low(report.there) && !is_low(report.back);
    for (int attempt = 0; attempt < kBothAttempts; ++attempt) {
      const std::vector<GoodputWay> both = ways({kThere, kBack}, attempt);
      report.both_there = both[0];
      report.both_back = both[1];
      if (!may_gain || (!is_low(both[0]) && !is_low(both[1]))) break;
    }
    return report;
  }

  RoundTripReport round_trip() {
    begin(Measure::kRoundTrip, 0.3, "round trips");
    RoundTripReport report;
    report.set = link_.round_trip();
    report.idle = measure_round_trips(network_, kThere, idle_probes(link_, options_.pings));
    report.wait = link_.throttled() ? queue_wait(link_, kOverload) : QueueWait{};
    begin(Measure::kRoundTrip, 0.3, "round trips beside a stream");
    report.beside_stream = beside_stream(report.wait);
    if (!link_.throttled()) {
      report.full_not_measured = "without a rate nothing waits";
    } else if (report.wait.seconds + report.wait.filling > kLongestQueue) {
      report.full_not_measured =
          fmt::format("takes {} to fill and {} to empty", format_time(report.wait.filling),
                      format_time(report.wait.seconds));
    } else {
      begin(Measure::kRoundTrip, 0.4, "round trips with a full queue");
      report.full = with_full_queue(report.wait);
    }
    return report;
  }

  RoundTripOptions loaded_probes(double wait) const {
    constexpr double kSpacing = 0.02;
    constexpr int kFewest = 5, kMost = 25;
    RoundTripOptions probes;
    probes.spacing = std::max(kSpacing, transmission_time(link_, kProbePayload) / kBesideShare);
    probes.count = std::clamp(static_cast<int>(kSettle / probes.spacing), kFewest, kMost);
    probes.patience = 0.5 + link_.round_trip() + 1.5 * wait;
    return probes;
  }

  RoundTrips beside_stream(const QueueWait& wait) {
    const BackgroundStream stream(network_, link_, kThere);
    sleep_for(kSettle + 10 * link_.round_trip());
    return measure_round_trips(network_, kThere, loaded_probes(wait.seconds));
  }

  RoundTrips with_full_queue(const QueueWait& wait) {
    RoundTrips found;
    {
      const QueueFlood flood(network_, link_, kThere, kOverload);
      sleep_for(wait.filling + 0.1 * wait.seconds);
      found = measure_round_trips(network_, kThere, loaded_probes(wait.seconds));
    }
    sleep_for(1.1 * wait.seconds + link_.delay());  // until it is empty
    return found;
  }

  LossReport loss() {
    LossReport report;
    report.expected = expected_loss(link_, kLossPayload);
    const double clustering = loss_clustering(link_);
    for (auto [way, flow, name] :
         {std::tuple(&report.there, kThere, "there"), std::tuple(&report.back, kBack, "back")}) {
      begin(Measure::kLoss, 0.5, fmt::format("loss {}", name));
      way->figures =
          measure_loss(network_, link_, flow, {.seconds = kLossSeconds * options_.seconds});
      way->interval =
          clopper_pearson(static_cast<double>(way->figures.lost) / clustering,
                          static_cast<double>(way->figures.sent) / clustering, kLossConfidence);
    }
    return report;
  }

  void burst() {
    if (!link_.throttled() || link_.disturbs()) {
      report_.not_measured.push_back(!link_.throttled()
                                         ? "burst credit: a link without a rate has none"
                                         : "burst credit: frames are lost, late or out of order");
      return;
    }
    begin(Measure::kBurst, 1, "burst credit");
    report_.burst = BurstReport{measure_burst_credit(network_, link_, kThere, {}),
                                measure_burst_credit(network_, link_, kBack, {})};
    for (const BurstFigures* way : {&report_.burst->there, &report_.burst->back})
      if (!way->not_measured.empty()) {
        report_.not_measured.push_back("burst credit: " + way->not_measured);
        report_.burst.reset();
        return;
      }
  }

  void change() {
    LinkSpec bare = link_;  // delay and loss are no part of how long a change takes
    bare.up.way = bare.down.way = {};
    bare.place = Place::kSender;
    std::string why;
    if (!link_.throttled()) why = "a link without a rate has none to change";
    if (link_.up.shaper == Shaper::kNetem || link_.down.shaper == Shaper::kNetem)
      why = "shaper=netem cannot be scheduled";
    if (why.empty()) {
      begin(Measure::kChange, 1, "latency of changes");
      network_.set_links(bare);
      report_.change = measure_change_latency(network_, bare, kThere, {});
      network_.set_links(link_);
      why = report_.change->not_measured;
      if (!why.empty()) report_.change.reset();
    }
    if (!why.empty()) report_.not_measured.push_back("change latency: " + why);
  }

  ToolReport tools() {
    ToolReport report;
    begin(Measure::kTools, 0.5, "iperf3");
    report.there = iperf3_goodput(network_, kThere, options_.seconds);
    if (report.there.value)
      report.back = iperf3_goodput(network_, kBack, options_.seconds);
    else
      report.back = report.there;
    begin(Measure::kTools, 0.5, "ping");
    report.round_trip = ping_round_trip(network_, kThere, kPings, link_.round_trip());
    if (report_.goodput) {
      report.own_there = report_.goodput->there.figures.goodput;
      report.own_back = report_.goodput->back.figures.goodput;
    }
    if (report_.round_trip) report.own_round_trip = report_.round_trip->idle.median;
    return report;
  }

  Network& network_;
  LinkSpec link_;
  const LinkReportOptions& options_;
  LinkReport report_;
  double all_ = 0, over_ = 0;  // s, expected
};

// Host 0's link against one of host 1's that is wider.
void measure_directions(const LinkSpec& link, const LinkReportOptions& options,
                        LinkReport& report) {
  const double wide = std::min(kFastest, kWider * std::max(link.up.rate, link.down.rate));
  TopologySpec spec;
  spec.exceptions = {{"host1", LinkChange::parse(fmt::format("rate={:.0f}bit", wide))}};
  Network network(2, spec);
  network.set_links(link);
  for (const bool up : {true, false}) {
    options.progress(up ? "goodput of the way up alone" : "goodput of the way down alone", 1);
    LinkSpec one = link;
    (up ? one.down : one.up).rate = wide;
    GoodputWay way;
    const MeasuredStreams measured = run_streams(network, one, {up ? kThere : kBack},
                                                 {.seconds = options.seconds, .settle = kSettle});
    way.figures = measured.streams[0];
    way.ceiling = ceiling_beside_acks(one, 0);
    (up ? report.goodput->up : report.goodput->down) = way;
    if (const std::string reason = measured.machine.reason(); !reason.empty())
      report.disturbed.try_emplace(Measure::kGoodput, reason);
  }
}

// In the order in which they are measured.
const std::vector<std::pair<std::string, Measure>>& measure_names() {
  static const std::vector<std::pair<std::string, Measure>> names = {
      {"goodput", Measure::kGoodput}, {"rtt", Measure::kRoundTrip}, {"loss", Measure::kLoss},
      {"burst", Measure::kBurst},     {"change", Measure::kChange}, {"tools", Measure::kTools}};
  return names;
}

}  // namespace

const std::string& measure_name(Measure measure) {
  const auto& names = measure_names();
  return std::find_if(names.begin(), names.end(),
                      [&](const auto& one) { return one.second == measure; })
      ->first;
}

Measures parse_measures(const std::string& text) {
  Measures measures;
  for (const std::string& word : split(text, ',')) {
    const auto& names = measure_names();
    const auto found = std::find_if(names.begin(), names.end(),
                                    [&](const auto& one) { return one.first == word; });
    if (found == names.end()) {
      std::string all;
      for (const auto& [name, measure] : names) all += (all.empty() ? "" : ", ") + name;
      throw InputError(
          fmt::format("{} is nothing that is measured (there are: {})", in_quotes(word), all));
    }
    measures.insert(found->second);
  }
  return measures;
}

LinkReport report_link_as_it_is(Network& network, const LinkSpec& link,
                                const LinkReportOptions& options) {
  return Reporter(network, link, options).run();
}

LinkReport report_link(const LinkSpec& link, const LinkReportOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  LinkReport report;
  {
    Network network(2);
    network.set_links(link);
    report = report_link_as_it_is(network, link, options);
  }
  if (report.goodput && link.up.rate > 0 && link.down.rate > 0 && link.up.rate != link.down.rate &&
      !link.disturbs())
    measure_directions(link, options, report);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace thinpipe
