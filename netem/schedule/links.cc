#include "netem/schedule/links.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/topology/flows.h"

namespace thinpipe {

namespace {

constexpr std::chrono::nanoseconds kAnyDelay{1'000'000};

LinkState state_of(const Direction& direction) {
  return {direction.rate, std::chrono::duration<double>(direction.way.delay).count(),
          direction.way.loss.percent / 100};
}

ScheduledLink scheduled(int link, bool is_trunk, const LinkSpec& own, const ScheduleSpec& spec) {
  if (spec.changes(Quantity::kLoss) && own.down.way.bursts)
    throw InputError("a loss in bursts cannot be scheduled");
  const ScheduleSpec up = is_trunk ? spec : spec.without(Quantity::kDelay).without(Quantity::kLoss);
  return {link, own, spec, up.on(state_of(own.up)), spec.on(state_of(own.down))};
}

}  // namespace

std::vector<LinkSpec> links_as_played(const std::vector<ScheduledLink>& links) {
  std::vector<LinkSpec> played;
  for (const ScheduledLink& one : links) {
    LinkSpec link = one.own;
    for (Direction* direction : {&link.up, &link.down})
      if (direction->shaper == Shaper::kTbf) direction->shaper = Shaper::kHtb;
    if (one.changes_way()) link.down.way.delay = std::max(link.down.way.delay, kAnyDelay);
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
        fmt::format("schedule '{}': no link has a rate that could change", schedule.to_string()));
  const ScheduleSpec general = schedule.with({});
  std::vector<std::optional<ScheduleSpec>> specs(links.size());
  for (std::size_t i = 0; i < links.size(); ++i)
    if (schedule.has_general() && links[i].throttled()) specs[i] = general;
  for (const auto& [name, parts] : schedule.named()) {
    std::vector<int> named;
    try {
      named = topology.links_named(name);
    } catch (const InputError& error) {
      throw InputError(fmt::format("schedule '{}' on topology '{}': {}", schedule.to_string(),
                                   topology.text, error.what()));
    }
    for (const int link : named) {
      std::optional<ScheduleSpec>& spec = specs[static_cast<std::size_t>(link)];
      // Without general parts there is nothing but the text and the time scale to begin with.
      spec = (spec ? *spec : general).with(parts);
    }
  }
  std::vector<ScheduledLink> found;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!specs[i]) continue;
    const int link = static_cast<int>(i);
    try {
      found.push_back(scheduled(link, topology.is_trunk(link), links[i], *specs[i]));
    } catch (const InputError& error) {
      throw InputError(
          fmt::format("{} ({}): {}", topology.link_name(link), links[i].to_string(), error.what()));
    }
  }
  return found;
}

}  // namespace thinpipe
