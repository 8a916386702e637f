#include "harness/scale/choice.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/units.h"
#include "netem/time_scale.h"

namespace thinpipe {

namespace {

// Of what the machine can carry with all cores at work. MPI copies every byte twice more than a
// bare flow does, which leaves about half; and half of that is left for codecs, for the exchange's
// own additions and for timers to be on time.
constexpr double kShare = 0.25;
constexpr double kFastestLink = 100e9;  // bit/s, the most a link can be set to

// 1, 2, 5, 10 ...: the first that is not below. Greater than kMostTimeScale when none is.
double round_up(double least) {
  double decade = 1;
  while (decade <= kMostTimeScale) {
    for (const double step : {1.0, 2.0, 5.0})
      if (decade * step >= least) return decade * step;
    decade *= 10;
  }
  return decade;
}

std::string deciding(const LinkSpec& link, const Capacity& machine, double by_rate,
                     double by_cores) {
  const std::string carried =
      fmt::format("a TCP flow carries {} here, so {} ranks can receive {} each at once",
                  format_rate(machine.flow), machine.ranks, format_rate(machine.per_rank()));
  if (by_rate > 1 && by_rate >= by_cores)
    return fmt::format("{}, and a link of {} may take a quarter of that", carried,
                       format_rate(link.rate()));
  if (by_cores > 1)
    return fmt::format(
        "{} ranks with {} codec thread{} share {} core{}, and on machines of their own would not",
        machine.ranks, machine.threads, machine.threads == 1 ? "" : "s", machine.cores,
        machine.cores == 1 ? "" : "s");
  if (machine.flow == 0) return "nothing crosses a link";
  return fmt::format("{}, over four times a link of {}", carried, format_rate(link.rate()));
}

void quicken(Direction& direction) {
  // netem stays where it was, since it costs time too.
  if (!direction.way.none()) {
    direction.way = Impairment{};
    direction.way.delay = std::chrono::microseconds(1);
  }
  if (direction.rate == 0) return;
  direction.rate = kFastestLink;
  direction.burst = direction.queue = 0;
  direction.queue_bdp = 0;
}

}  // namespace

double Capacity::per_rank() const {
  return ranks > 1 ? flow * std::max(1.0, cores / 2.0) / ranks : 0;
}

TimeScaleChoice choose_time_scale(const LinkSpec& link, const Capacity& machine) {
  const double by_rate =
      machine.per_rank() > 0 ? link.tcp_ceiling() / (kShare * machine.per_rank()) : 1;
  const double by_cores = static_cast<double>(machine.ranks) * machine.threads / machine.cores;
  TimeScaleChoice choice;
  choice.factor = round_up(std::max(by_rate, by_cores));
  choice.why = deciding(link, machine, by_rate, by_cores);
  if (choice.factor > kMostTimeScale) {
    choice.refused = true;
    choice.why = fmt::format("{}: that takes a factor of {:.0f}, beyond {}", choice.why,
                             std::max(by_rate, by_cores), kMostTimeScale);
  } else if (choice.factor > 1 && link.disturbs()) {
    choice.refused = true;
    choice.why = fmt::format("{}: that takes a factor of {}, but {}", choice.why, choice.factor,
                             time_scale_warnings(link, choice.factor).front());
  } else if (choice.factor > 1 && link.rate() / choice.factor < 1e3) {
    choice.refused = true;
    choice.why =
        fmt::format("{}: that takes a factor of {}, and a link would be slower than 1 kbit/s",
                    choice.why, choice.factor);
  }
  return choice;
}

TimeScaleChoice choose_time_scale(const Topology& topology, const Capacity& machine) {
  LinkSpec fastest;
  for (int i = 0; i < topology.links(); ++i)
    if (topology.link(i).tcp_ceiling() > fastest.tcp_ceiling()) fastest = topology.link(i);
  TimeScaleChoice choice = choose_time_scale(fastest, machine);
  for (int i = 0; i < topology.links() && choice.factor > 1 && !choice.refused; ++i) {
    const LinkSpec& link = topology.link(i);
    choice.refused = link.disturbs() || (link.throttled() && link.rate() / choice.factor < 1e3);
    if (choice.refused)
      choice.why = fmt::format(
          "{}: that takes a factor of {}, but {}", choice.why, choice.factor,
          link.disturbs()
              ? topology.link_name(i) + ": " + time_scale_warnings(link, choice.factor).front()
              : topology.link_name(i) + " would be slower than 1 kbit/s");
  }
  return choice;
}

LinkSpec ceiling_link(const LinkSpec& link) {
  LinkSpec fast = link;
  quicken(fast.up);
  quicken(fast.down);
  return fast;
}

}  // namespace thinpipe
