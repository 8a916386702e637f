#include "netem/verify/judge.h"

#include <cmath>

#include <fmt/format.h>

#include "base/units.h"

namespace thinpipe {

namespace {

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

class Judge {
 public:
  Judge(const LinkReport& report, double tolerance) : report_(report), tolerance_(tolerance) {}

  LinkVerdict judge() {
    // TCP's handling of lost, late or reordered frames is no property of the link.
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
    way(found.there, "goodput there");
    way(found.back, "goodput back");
    both(found.both_there, "goodput there with both at once");
    both(found.both_back, "goodput back with both at once");
    if (found.up) way(*found.up, "goodput of the way up alone");
    if (found.down) way(*found.down, "goodput of the way down alone");
  }

  void way(const GoodputWay& way, const char* what) {
    expect(std::fabs(way.deviation()) <= tolerance_, what,
           fmt::format("{} is {}, {:+.1f} % off its ceiling of {} ({} are allowed)", what,
                       format_rate(way.figures.goodput), 100 * way.deviation(),
                       format_rate(way.ceiling), percent(tolerance_)));
  }

  // Where a switch drops what does not fit, how much of the link two streams and each other's
  // acknowledgements make use of is TCP's doing; more than the link has they may not get.
  void both(const GoodputWay& found, const char* what) {
    if (!drops_at_switch(report_.link) || found.deviation() > 0) way(found, what);
  }

  void round_trip() {
    const RoundTripReport& found = *report_.round_trip;
    const bool loses =
        report_.loss ? report_.loss->expected > 0 : expected_loss(report_.link, kProbePayload) > 0;
    if (!loses)
      expect(found.idle.lost == 0, "no probe lost",
             fmt::format("{} of {} probes of the idle link did not come back", found.idle.lost,
                         found.idle.sent));
    if (found.idle.median == 0) return;
    const double slack = std::max(kRoundTripTolerance * found.set, kRoundTripSlack) +
                         2 * transmission_time(report_.link, kProbePayload);
    // Jitter moves the median only where its distribution is skewed.
    const double jitter =
        std::chrono::duration<double>(report_.link.up.way.jitter + report_.link.down.way.jitter)
            .count();
    expect(found.idle.median >= found.set - kRoundTripTolerance * found.set - jitter &&
               found.idle.median <= found.set + slack + jitter,
           "idle round trip",
           fmt::format("the idle round trip is {}, {} were set ({} are allowed)",
                       format_time(found.idle.median), format_time(found.set),
                       format_time(slack + jitter)));
    if (found.full) queue(found);
  }

  void queue(const RoundTripReport& found) {
    const double wait = found.wait.seconds, added = found.full->median - found.idle.median;
    const double frames = 2 * report_.link.frame_bytes() * 8 / report_.link.rate();
    const double slack = kQueueTolerance * wait + kQueueSlack + frames;
    expect(found.full->sent > found.full->lost && std::fabs(added - wait) <= slack, "queue",
           fmt::format("a full queue adds {} to the round trip where its size makes {} ({} of {} "
                       "probes came back)",
                       format_time(added), format_time(wait), found.full->sent - found.full->lost,
                       found.full->sent));
  }

  void loss() {
    const LossReport& found = *report_.loss;
    for (const auto& [way, name] :
         {std::pair(&found.there, "there"), std::pair(&found.back, "back")})
      expect(way->interval.holds(found.expected), fmt::format("loss {}", name),
             fmt::format("{} of {} datagrams {} were lost, which means {} to {}; {} were set",
                         way->figures.lost, way->figures.sent, name, percent(way->interval.low),
                         percent(way->interval.high), percent(found.expected)));
  }

  void burst() {
    for (const auto& [way, name] :
         {std::pair(&report_.burst->there, "there"), std::pair(&report_.burst->back, "back")}) {
      const double slack =
          kBurstTolerance * way->expected + kBurstSlack * report_.link.rate() / 8 + 2 * way->frame;
      expect(std::fabs(way->credit - way->expected) <= slack, fmt::format("burst credit {}", name),
             fmt::format("{} let {} through for free after it idled where {} were set ({} more or "
                         "less are allowed)",
                         name, format_bytes(way->credit), format_bytes(way->expected),
                         format_bytes(slack)));
    }
  }

  void change() {
    const ChangeFigures& found = *report_.change;
    expect(2 * found.unseen < found.changes && found.median <= kChangeLatency, "change latency",
           2 * found.unseen < found.changes
               ? fmt::format("a new rate is seen {} after it was set ({} are allowed)",
                             format_time(found.median), format_time(kChangeLatency))
               : fmt::format("{} of {} new rates were not seen", found.unseen, found.changes));
    expect(
        found.lost == 0, "changes lose nothing",
        fmt::format("{} of {} datagrams were lost while the rate changed", found.lost, found.sent));
  }

  void tools() {
    const ToolReport& found = *report_.tools;
    const bool comparable = report_.link.throttled() && !report_.link.disturbs();
    for (const auto& [figure, own, name] : {std::tuple(&found.there, found.own_there, "there"),
                                            std::tuple(&found.back, found.own_back, "back")}) {
      if (!figure->value || own == 0 || !comparable) continue;
      const double apart = *figure->value / own - 1;
      if (std::fabs(apart) > kToolTolerance)
        verdict_.warnings.push_back(fmt::format("{} measures {} {}, {:+.1f} % from our {}",
                                                figure->tool, format_rate(*figure->value), name,
                                                100 * apart, format_rate(own)));
    }
    if (!found.round_trip.value || found.own_round_trip == 0) return;
    const double apart = *found.round_trip.value - found.own_round_trip;
    if (std::fabs(apart) > kToolRoundTripTolerance * found.own_round_trip + kToolRoundTripSlack)
      verdict_.warnings.push_back(
          fmt::format("{} measures a round trip of {}, we {}", found.round_trip.tool,
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
