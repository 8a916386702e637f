#include "netem/verify/judge.h"

#include <cmath>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/units.h"

namespace thinpipe {

namespace {

std::string percent(double fraction) { return fmt::format("{:.3g} %", 100 * fraction); }

class Judge {
 public:
  Judge(const LinkReport& report, double tolerance) : report_(report), tolerance_(tolerance) {}

  LinkVerdict judge() {
    // TCP's reaction to lost, late or reordered frames is no property of the link.
    if (report_.goodput && report_.link.throttled() && !report_.link.disturbs() &&
        is_valid(Measure::kGoodput))
      goodput();
    if (report_.round_trip && is_valid(Measure::kRoundTrip)) round_trip();
    if (report_.loss && is_valid(Measure::kLoss)) loss();
    if (report_.burst && is_valid(Measure::kBurst)) burst();
    if (report_.change && is_valid(Measure::kChange)) change();
    if (report_.tools) tools();
    return std::move(verdict_);
  }

 private:
  bool is_valid(Measure measure) {
    const auto found = report_.disturbed.find(measure);
    if (found == report_.disturbed.end()) return true;
    verdict_.disturbed.push_back(fmt::format("{} ({})", measure_name(measure), found->second));
    return false;
  }

  void expect(bool holds, const std::string& what, const std::string& reason) {
    (holds ? verdict_.passed : verdict_.reasons).push_back(holds ? what : reason);
  }

  void goodput() {
    const GoodputReport& found = *report_.goodput;
    direction(found.forward, "forward goodput");
    direction(found.reverse, "reverse goodput");
    both(found.both_forward, "forward goodput (duplex)");
    both(found.both_reverse, "reverse goodput (duplex)");
    if (found.up) direction(*found.up, "uplink goodput");
    if (found.down) direction(*found.down, "downlink goodput");
  }

  void direction(const DirectionGoodput& found, const char* what) {
    expect(std::fabs(found.deviation()) <= tolerance_, what,
           fmt::format("{} is {}, {:+.1f} % off the TCP ceiling of {} (tolerance {})", what,
                       format_rate(found.figures.goodput), 100 * found.deviation(),
                       format_rate(found.ceiling), percent(tolerance_)));
  }

  // If a switch drops excess frames, TCP determines how much of the link two opposite streams and
  // their acknowledgements use. Only a goodput above the ceiling is then an error of the link.
  void both(const DirectionGoodput& found, const char* what) {
    if (!drops_at_switch(report_.link) || found.deviation() > 0) direction(found, what);
  }

  void round_trip() {
    const RoundTripReport& found = *report_.round_trip;
    const bool loses =
        report_.loss ? report_.loss->expected > 0 : expected_loss(report_.link, kProbePayload) > 0;
    if (!loses)
      expect(found.idle.lost == 0, "no probe lost",
             fmt::format("{} of {} probes of the idle link were lost", found.idle.lost,
                         found.idle.sent));
    if (found.idle.median == 0) return;
    const double slack = std::max(kRoundTripTolerance * found.set, kRoundTripSlack) +
                         2 * transmission_time(report_.link, kProbePayload);
    // Jitter moves the median only if its distribution is skewed.
    const LinkSpec& link = report_.link;
    const double jitter = in_seconds(link.up.impairment.jitter + link.down.impairment.jitter);
    expect(found.idle.median >= found.set - kRoundTripTolerance * found.set - jitter &&
               found.idle.median <= found.set + slack + jitter,
           "idle round trip",
           fmt::format("the idle round trip is {}, but {} was set (tolerance {})",
                       format_time(found.idle.median), format_time(found.set),
                       format_time(slack + jitter)));
    if (found.full) queue(found);
  }

  void queue(const RoundTripReport& found) {
    const double wait = found.wait.seconds, added = found.full->median - found.idle.median;
    const double frames = 2 * report_.link.frame_bytes() * 8 / report_.link.rate();
    const double slack = kQueueTolerance * wait + kQueueSlack + frames;
    expect(found.full->sent > found.full->lost && std::fabs(added - wait) <= slack, "queue",
           fmt::format("a full queue adds {} of bufferbloat delay, but its size gives {} ({} of {} "
                       "probes returned)",
                       format_time(added), format_time(wait), found.full->sent - found.full->lost,
                       found.full->sent));
  }

  void loss() {
    const LossReport& found = *report_.loss;
    for (const auto& [one, name] :
         {std::pair(&found.forward, "forward"), std::pair(&found.reverse, "reverse")})
      expect(one->interval.holds(found.expected), fmt::format("{} loss", name),
             fmt::format("{} of {} {} datagrams were lost, so the loss is {} to {}, but {} was set",
                         one->figures.lost, one->figures.sent, name, percent(one->interval.low),
                         percent(one->interval.high), percent(found.expected)));
  }

  void burst() {
    for (const auto& [one, name] : {std::pair(&report_.burst->forward, "forward"),
                                    std::pair(&report_.burst->reverse, "reverse")}) {
      const double slack =
          kBurstTolerance * one->expected + kBurstSlack * report_.link.rate() / 8 + 2 * one->frame;
      expect(
          std::fabs(one->depth - one->expected) <= slack,
          fmt::format("{} token-bucket depth", name),
          fmt::format("the {} token-bucket depth is {}, but {} was set (tolerance {})", name,
                      format_bytes(one->depth), format_bytes(one->expected), format_bytes(slack)));
    }
  }

  void change() {
    const ChangeFigures& found = *report_.change;
    expect(
        2 * found.unseen < found.changes && found.median <= kChangeLatency, "change latency",
        2 * found.unseen < found.changes
            ? fmt::format("a new rate takes effect after {} (limit {})", format_time(found.median),
                          format_time(kChangeLatency))
            : fmt::format("{} of {} new rates did not take effect", found.unseen, found.changes));
    expect(
        found.lost == 0, "no loss during changes",
        fmt::format("{} of {} datagrams were lost while the rate changed", found.lost, found.sent));
  }

  void tools() {
    const ToolReport& found = *report_.tools;
    const bool comparable = report_.link.throttled() && !report_.link.disturbs();
    for (const auto& [figure, own, name] :
         {std::tuple(&found.forward, found.own_forward, "forward"),
          std::tuple(&found.reverse, found.own_reverse, "reverse")}) {
      if (!figure->value || own == 0 || !comparable) continue;
      const double apart = *figure->value / own - 1;
      if (std::fabs(apart) > kToolTolerance)
        verdict_.warnings.push_back(
            fmt::format("{} measures a {} goodput of {}, {:+.1f} % off thinpipe's {}", figure->tool,
                        name, format_rate(*figure->value), 100 * apart, format_rate(own)));
    }
    if (!found.round_trip.value || found.own_round_trip == 0) return;
    const double apart = *found.round_trip.value - found.own_round_trip;
    if (std::fabs(apart) > kToolRoundTripTolerance * found.own_round_trip + kToolRoundTripSlack)
      verdict_.warnings.push_back(
          fmt::format("{} measures a round trip of {}, thinpipe {}", found.round_trip.tool,
                      format_time(*found.round_trip.value), format_time(found.own_round_trip)));
  }

  const LinkReport& report_;
  double tolerance_;
  LinkVerdict verdict_;
};

}  // namespace

std::optional<bool> LinkVerdict::holds() const {
  if (!reasons.empty()) return false;
  return passed.empty() || !valid() ? std::nullopt : std::optional<bool>(true);
}

LinkVerdict judge(const LinkReport& report, double tolerance) {
  return Judge(report, tolerance).judge();
}

}  // namespace thinpipe
