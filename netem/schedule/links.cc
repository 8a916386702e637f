#include "netem/schedule/links.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "netem/topology/flows.h"

namespace thinpipe {

namespace {

constexpr std::chrono::nanoseconds kAnyDelay{1'000'000};

bool impairment_changes(const ScheduleSpec& spec) {
  return spec.changes(Quantity::kDelay) || spec.changes(Quantity::kLoss);
}

// A link's schedules by direction; nothing for a direction that does not change.
struct DirectionSpecs {
  std::optional<ScheduleSpec> up, down;
};

ScheduledLink scheduled(int link, bool is_trunk, const LinkSpec& own, const ScheduleSpec& up,
                        const ScheduleSpec& down) {
  const ScheduleSpec own_up = is_trunk ? up : up.without(Quantity::kDelay).without(Quantity::kLoss);
  // Every change of netem's settings ends a burst, a change of the delay alone too.
  if ((impairment_changes(own_up) && own.up.impairment.bursts) ||
      (impairment_changes(down) && own.down.impairment.bursts))
    throw InputError("a loss in bursts cannot be scheduled, nor a delay beside it");
  return {link,
          own,
          own_up.on(state_of(own.up)),
          down.on(state_of(own.down)),
          impairment_changes(down) || impairment_changes(own_up),
          is_trunk};
}

// A name such as `host3.up`: links and their directions.
struct DirectedName {
  std::string links;  // "" for all links with a rate
  bool up = true, down = true;
};

DirectedName directed_name(const std::string& name) {
  for (const bool up : {true, false}) {
    const std::string direction = up ? "up" : "down";
    if (name == direction) return {"", up, !up};
    if (name.ends_with("." + direction))
      return {name.substr(0, name.size() - direction.size() - 1), up, !up};
  }
  return {name, true, true};
}

std::vector<int> links_of(const DirectedName& name, const Topology& topology) {
  if (!name.links.empty()) return topology.links_named(name.links);
  std::vector<int> found;
  for (int i = 0; i < topology.links(); ++i)
    if (topology.link(i).throttled()) found.push_back(i);
  if (found.empty()) throw InputError("no link has a rate to schedule, such as rate=100mbit");
  return found;
}

}  // namespace

LinkState state_of(const Direction& direction) {
  return {direction.rate, in_seconds(direction.impairment.delay),
          direction.impairment.mean_loss() / 100};
}

std::vector<LinkSpec> links_as_played(const std::vector<ScheduledLink>& links) {
  std::vector<LinkSpec> played;
  for (const ScheduledLink& one : links) {
    LinkSpec link = one.own;
    for (Direction* direction : {&link.up, &link.down})
      if (direction->shaper == Shaper::kTbf) direction->shaper = Shaper::kHtb;
    if (one.changes_impairment) {
      link.down.impairment.delay = std::max(link.down.impairment.delay, kAnyDelay);
      if (one.is_trunk) link.up.impairment.delay = std::max(link.up.impairment.delay, kAnyDelay);
    }
    if (std::find(played.begin(), played.end(), link) == played.end()) played.push_back(link);
  }
  return played;
}

std::vector<ScheduledLink> scheduled_links(const Topology& topology, const ScheduleSpec& schedule) {
  const std::vector<LinkSpec> links = links_as_set(topology);
  const bool none_has_rate =
      std::none_of(links.begin(), links.end(), [](const LinkSpec& one) { return one.throttled(); });
  if (schedule.has_general() && none_has_rate)
    throw InputError(
        fmt::format("schedule {}: no link has a rate to schedule, such as rate=100mbit",
                    in_quotes(schedule.to_string())));
  const ScheduleSpec general = schedule.with({});
  std::vector<DirectionSpecs> specs(links.size());
  for (std::size_t i = 0; i < links.size(); ++i)
    if (schedule.has_general() && links[i].throttled()) specs[i] = {general, general};
  // The schedule of a link to which the general parts (those without a link's name) do not apply.
  // It has the text and the time scale of the general schedule, but no parts.
  const ScheduleSpec nothing =
      general.without(Quantity::kRate).without(Quantity::kDelay).without(Quantity::kLoss);
  const auto add = [&](std::optional<ScheduleSpec>& spec, const ScheduleSpec& parts) {
    spec = (spec ? *spec : nothing).with(parts);
  };
  for (const auto& [name, parts] : schedule.named()) {
    const DirectedName directed = directed_name(name);
    try {
      for (const int link : links_of(directed, topology)) {
        DirectionSpecs& directions = specs[as_index(link)];
        if (!directed.down && impairment_changes(parts) && !topology.is_trunk(link))
          throw InputError(
              fmt::format("{}: the delay and the loss of a host's link are on its downlink", name));
        if (directed.up) add(directions.up, parts);
        if (directed.down) add(directions.down, parts);
      }
    } catch (const InputError& error) {
      throw InputError(fmt::format("schedule {} on topology {}: {}",
                                   in_quotes(schedule.to_string()), in_quotes(topology.text),
                                   error.what()));
    }
  }
  std::vector<ScheduledLink> found;
  for (std::size_t i = 0; i < links.size(); ++i) {
    const auto& [up, down] = specs[i];
    if (!up && !down) continue;
    const int link = static_cast<int>(i);
    try {
      found.push_back(scheduled(link, topology.is_trunk(link), links[i], up.value_or(nothing),
                                down.value_or(nothing)));
    } catch (const InputError& error) {
      throw InputError(
          fmt::format("{} ({}): {}", topology.link_name(link), links[i].to_string(), error.what()));
    }
  }
  return found;
}

}  // namespace thinpipe
