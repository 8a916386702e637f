#include "netem/verify/link_report.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "netem/verify/judge.h"

namespace thinpipe {

namespace {

constexpr double kOverload = 1.25;           // load that keeps a queue full, over the rate
constexpr double kLongestQueue = 4;          // longest queue to be filled: s to fill and drain it
constexpr double kBesideShare = 0.02;        // fraction of the rate for probes beside a stream
constexpr double kSettle = 0.5;              // time in s of a stream before it is measured
constexpr double kSettleBehindSwitch = 1.5;  // settling time in s, if a switch drops excess frames
constexpr double kSettleBoth = 0.7;          // additional settling time in s, for opposite streams
// The send buffer of each of two opposite TCP streams, in seconds of data at the link's rate. A
// stream's ACKs wait behind the other stream's data in the sender's queue. So a stream fills the
// link only if its buffer holds more than what waits in both queues.
constexpr double kBothBuffer = 0.4;
// A TCP window that left slow start too early takes seconds to grow. So each further attempt
// settles longer before it measures. A link that is really too slow fails all attempts.
constexpr int kBothAttempts = 3;
constexpr double kSettleMoreEachAttempt = 1.5;
constexpr double kLossSeconds = 0.75;  // duration of each direction's train, over `seconds`
constexpr int kPings = 20;             // of the ping program
constexpr double kWider = 8;           // rate of a link that is no bottleneck, over the link's rate
constexpr double kFastest = 100e9;     // bit/s, a link's highest rate

// Returns the approximate duration of a measure in s, for progress.
double expected_seconds(Measure measure, const LinkReportOptions& options) {
  const std::map<Measure, double> seconds = {
      {Measure::kGoodput, 3 * (options.seconds + kSettle) + kSettleBoth},
      {Measure::kRoundTrip, 3},
      {Measure::kLoss, 2 * (kLossSeconds * options.seconds + kSettle)},
      {Measure::kBurst, 1},
      {Measure::kChange, 2},
      {Measure::kTools, 2 * options.seconds + 5}};
  return seconds.at(measure);
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
    if (wanted(Measure::kTools)) report_.tools = tools();  // not judged, so not watched
    // The change latency is measured last, since its measurement replaces the shapers.
    if (wanted(Measure::kChange)) watch(Measure::kChange, report_.change, [&] { change(); });
    return std::move(report_);
  }

 private:
  // Watches the machine during `run`, which sets `found` if it could measure.
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

  // Reports the start of a step that takes this fraction of the measure.
  void begin(Measure measure, double fraction, const std::string& what) {
    options_.progress(what, over_ / all_);
    over_ += fraction * expected_seconds(measure, options_);
  }

  // Streams settle longer in two cases. If a switch's port drops excess frames, slow start ends in
  // losses, and TCP needs time to recover. If streams are opposite, ACKs queue behind data, and the
  // window grows more slowly.
  TcpStreamOptions streams(bool both, int attempt) const {
    TcpStreamOptions streams{.seconds = options_.seconds,
                             .settle = drops_at_switch(link_) ? kSettleBehindSwitch : kSettle};
    if (!both || !link_.throttled()) return streams;
    streams.settle += kSettleBoth + attempt * kSettleMoreEachAttempt;
    streams.buffer = kBothBuffer;
    return streams;
  }

  double counted(int host) const { return static_cast<double>(network_.counters(host).up.bytes); }

  std::vector<DirectionGoodput> streams_of(const std::vector<Flow>& flows, int attempt = 0) {
    std::vector<double> before;
    for (const Flow& flow : flows) before.push_back(counted(flow.from));
    const MeasuredStreams measured =
        run_streams(network_, link_, flows, streams(flows.size() > 1, attempt));
    const std::vector<StreamFigures>& figures = measured.streams;
    streams_machine_ = measured.machine;
    std::vector<DirectionGoodput> found;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      DirectionGoodput one{figures[i], 0, 0};
      const StreamFigures other = flows.size() > 1 ? figures[1 - i] : StreamFigures{};
      one.ceiling = link_.tcp_ceiling(other.acks);
      const double needed = one.figures.payload * link_.frame_bytes() / link_.payload_bytes() +
                            other.all_acks * kAckFrame;
      one.wire_ratio = (counted(flows[i].from) - before[i]) / needed;
      found.push_back(one);
    }
    return found;
  }

  // Notes whether the machine was busy during the last streams_of(). Called for results that count.
  // On a link without a rate, the streams measure the machine and keep it fully busy.
  void note_streams() {
    if (link_.throttled()) note(Measure::kGoodput, streams_machine_);
  }

  GoodputReport goodput() {
    begin(Measure::kGoodput, 0.3, "forward goodput");
    GoodputReport report;
    report.forward = streams_of({kForward})[0];
    note_streams();
    begin(Measure::kGoodput, 0.3, "reverse goodput");
    report.reverse = streams_of({kReverse})[0];
    note_streams();
    begin(Measure::kGoodput, 0.4, "duplex goodput");
    const auto is_low = [](const DirectionGoodput& one) {
      return one.deviation() < -kCeilingTolerance;
    };
    const bool may_gain = link_.throttled() && !link_.disturbs() && !drops_at_switch(link_) &&
                          !is_low(report.forward) && !is_low(report.reverse);
    for (int attempt = 0; attempt < kBothAttempts; ++attempt) {
      const std::vector<DirectionGoodput> both = streams_of({kForward, kReverse}, attempt);
      report.both_forward = both[0];
      report.both_reverse = both[1];
      if (!may_gain || (!is_low(both[0]) && !is_low(both[1]))) break;
    }
    note_streams();  // of the last attempt
    return report;
  }

  RoundTripReport round_trip() {
    begin(Measure::kRoundTrip, 0.3, "round trips");
    RoundTripReport report;
    report.set = link_.round_trip();
    report.idle = measure_round_trips(network_, kForward, idle_probes(link_, options_.pings));
    report.wait = link_.throttled() ? queue_wait(link_, kOverload) : QueueWait{};
    begin(Measure::kRoundTrip, 0.3, "round trips with a TCP stream");
    report.beside_stream = beside_stream(report.wait);
    if (!link_.throttled()) {
      report.full_not_measured = "a link without a rate has no queue";
    } else if (report.wait.seconds + report.wait.filling > kLongestQueue) {
      report.full_not_measured =
          fmt::format("the queue takes {} to fill and {} to drain",
                      format_time(report.wait.filling), format_time(report.wait.seconds));
    } else {
      begin(Measure::kRoundTrip, 0.4, "round trips with a full queue");
      report.full = with_full_queue(report.wait);
    }
    return report;
  }

  RoundTripOptions loaded_probes(double wait) const {
    constexpr double kSpacing = 0.02;
    constexpr int kMin = 5, kMax = 25;
    RoundTripOptions probes;
    probes.spacing = std::max(kSpacing, transmission_time(link_, kProbePayload) / kBesideShare);
    probes.count = std::clamp(static_cast<int>(kSettle / probes.spacing), kMin, kMax);
    probes.timeout = 0.5 + link_.round_trip() + 1.5 * wait;
    return probes;
  }

  RoundTrips beside_stream(const QueueWait& wait) {
    const BackgroundStream stream(network_, link_, kForward);
    wait_until(now_seconds() + kSettle + 10 * link_.round_trip());
    return measure_round_trips(network_, kForward, loaded_probes(wait.seconds));
  }

  RoundTrips with_full_queue(const QueueWait& wait) {
    RoundTrips found;
    {
      const QueueFlood flood(network_, link_, kForward, kOverload);
      wait_until(now_seconds() + wait.filling + 0.1 * wait.seconds);
      found = measure_round_trips(network_, kForward, loaded_probes(wait.seconds));
    }
    // Until the queue has drained.
    wait_until(now_seconds() + 1.1 * wait.seconds + link_.delay());
    return found;
  }

  LossReport loss() {
    LossReport report;
    report.expected = expected_loss(link_, kLossPayload);
    const double clustering = loss_clustering(link_);
    for (auto [one, flow, name] : {std::tuple(&report.forward, kForward, "forward"),
                                   std::tuple(&report.reverse, kReverse, "reverse")}) {
      begin(Measure::kLoss, 0.5, fmt::format("{} loss", name));
      one->figures = measure_loss(network_, link_, flow, kLossSeconds * options_.seconds);
      one->interval =
          clopper_pearson(static_cast<double>(one->figures.lost) / clustering,
                          static_cast<double>(one->figures.sent) / clustering, kLossConfidence);
    }
    return report;
  }

  void burst() {
    if (!link_.throttled() || link_.disturbs()) {
      report_.not_measured.push_back(
          !link_.throttled()
              ? "token-bucket depth: a link without a rate has no bucket"
              : "token-bucket depth: the link loses, reorders or unevenly delays frames");
      return;
    }
    begin(Measure::kBurst, 1, "token-bucket depth");
    report_.burst = BurstReport{measure_bucket_depth(network_, link_, kForward),
                                measure_bucket_depth(network_, link_, kReverse)};
    for (const BurstFigures* one : {&report_.burst->forward, &report_.burst->reverse})
      if (!one->not_measured.empty()) {
        report_.not_measured.push_back("token-bucket depth: " + one->not_measured);
        report_.burst.reset();
        return;
      }
  }

  void change() {
    LinkSpec bare = link_;  // delay and loss do not affect the latency of a change
    bare.up.impairment = bare.down.impairment = {};
    bare.place = Place::kSender;
    std::string why;
    if (!link_.throttled()) why = "the link has no rate to change";
    if (link_.up.shaper == Shaper::kNetem || link_.down.shaper == Shaper::kNetem)
      why = "under a schedule, HTB replaces shaper=netem";
    if (why.empty()) {
      begin(Measure::kChange, 1, "change latency");
      network_.set_links(bare);
      report_.change = measure_change_latency(network_, bare, kForward);
      network_.set_links(link_);
      why = report_.change->not_measured;
      if (!why.empty()) report_.change.reset();
    }
    if (!why.empty()) report_.not_measured.push_back("change latency: " + why);
  }

  ToolReport tools() {
    ToolReport report;
    begin(Measure::kTools, 0.5, "iperf3");
    report.forward = iperf3_goodput(network_, kForward, options_.seconds);
    if (report.forward.value)
      report.reverse = iperf3_goodput(network_, kReverse, options_.seconds);
    else
      report.reverse = report.forward;
    begin(Measure::kTools, 0.5, "ping");
    report.round_trip = ping_round_trip(network_, kForward, kPings, link_.round_trip());
    if (report_.goodput) {
      report.own_forward = report_.goodput->forward.figures.goodput;
      report.own_reverse = report_.goodput->reverse.figures.goodput;
    }
    if (report_.round_trip) report.own_round_trip = report_.round_trip->idle.median;
    return report;
  }

  Network& network_;
  LinkSpec link_;
  const LinkReportOptions& options_;
  LinkReport report_;
  Disturbance streams_machine_;  // during the last streams_of()
  double all_ = 0, over_ = 0;    // expected seconds: of all measures, of the steps begun
};

// Measures each direction of host 0's link, with a faster link of host 1.
void measure_directions(const LinkSpec& link, const LinkReportOptions& options,
                        LinkReport& report) {
  const double wide = std::min(kFastest, kWider * std::max(link.up.rate, link.down.rate));
  TopologySpec spec;
  spec.exceptions = {{"host1", LinkChange::parse(fmt::format("rate={:.0f}bit", wide))}};
  Network network(2, spec);
  network.set_links(link);
  for (const bool up : {true, false}) {
    options.progress(up ? "uplink goodput" : "downlink goodput", 1);
    LinkSpec one = link;
    (up ? one.down : one.up).rate = wide;
    DirectionGoodput direction;
    const double settle = drops_at_switch(one) ? kSettleBehindSwitch : kSettle;
    const MeasuredStreams measured = run_streams(network, one, {up ? kForward : kReverse},
                                                 {.seconds = options.seconds, .settle = settle});
    direction.figures = measured.streams[0];
    direction.ceiling = one.tcp_ceiling();
    (up ? report.goodput->up : report.goodput->down) = direction;
    if (const std::string reason = measured.machine.reason(); !reason.empty())
      report.disturbed.try_emplace(Measure::kGoodput, reason);
  }
}

// By Measure.
const std::vector<std::string> kMeasureNames = {"goodput", "rtt",    "loss",
                                                "burst",   "change", "tools"};

}  // namespace

const std::string& measure_name(Measure measure) {
  return kMeasureNames[static_cast<std::size_t>(measure)];
}

Measures parse_measures(const std::string& text) {
  Measures measures;
  for (const std::string& word : split(text, ',')) {
    const auto found = std::find(kMeasureNames.begin(), kMeasureNames.end(), word);
    if (found == kMeasureNames.end())
      throw InputError(fmt::format("unknown measurement {} (known: {})", in_quotes(word),
                                   fmt::join(kMeasureNames, ", ")));
    measures.insert(static_cast<Measure>(found - kMeasureNames.begin()));
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
  report.seconds = seconds_since(begin);
  return report;
}

}  // namespace thinpipe
