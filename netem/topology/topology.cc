#include "netem/topology/topology.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "netem/topology/flows.h"

namespace thinpipe {
namespace {

// Parses `host3` or `host4-7`; nothing for any other name.
std::optional<HostRun> host_range(std::string_view name) {
  constexpr std::string_view kHost = "host";
  if (!name.starts_with(kHost)) return std::nullopt;
  name.remove_prefix(kHost.size());
  const std::size_t dash = std::min(name.find('-'), name.size());
  const auto first = parse_number<int>(name.substr(0, dash), 0);
  const auto last = dash == name.size() ? first : parse_number<int>(name.substr(dash + 1), 0);
  if (!first || !last) return std::nullopt;
  return HostRun{*first, *last};
}

std::vector<int> from_to(int first, int last) {
  std::vector<int> indices(static_cast<std::size_t>(std::max(0, last - first + 1)));
  std::iota(indices.begin(), indices.end(), first);
  return indices;
}

bool alike(const TopologyHost& a, const TopologyHost& b) {
  return a.link == b.link && a.role == b.role;
}

}  // namespace

const Trunk& Topology::trunk_of(int link) const { return trunks[as_index(link) - hosts.size()]; }

const LinkSpec& Topology::link(int index) const {
  return is_trunk(index) ? trunk_of(index).link : hosts[as_index(index)].link;
}

LinkSpec& Topology::link(int index) {
  return is_trunk(index) ? trunks[as_index(index) - hosts.size()].link
                         : hosts[as_index(index)].link;
}

std::string Topology::link_name(int index) const {
  if (!is_trunk(index)) return hosts[as_index(index)].name;
  const Trunk& trunk = trunk_of(index);
  return switches[as_index(trunk.a)] + "-" + switches[as_index(trunk.b)];
}

int Topology::hosts_at(int switch_index) const {
  return static_cast<int>(std::count_if(hosts.begin(), hosts.end(), [&](const TopologyHost& host) {
    return host.at == switch_index;
  }));
}

std::vector<int> Topology::links_named(const std::string& name) const {
  const int last = static_cast<int>(hosts.size()) - 1;
  if (const auto range = host_range(name)) {
    if (range->first > range->last || range->last > last)
      throw InputError(fmt::format("{}: the hosts are host0 to host{}", name, last));
    return from_to(range->first, range->last);
  }
  if (name == "hosts") return from_to(0, last);
  if (name == "trunks" && !trunks.empty()) return from_to(last + 1, links() - 1);
  std::vector<std::string> known;
  for (int i = last + 1; i < links(); ++i) {
    known.push_back(link_name(i));
    // A rack has only one uplink, so the rack's name suffices.
    if (name == known.back() || name + "-spine" == known.back()) return {i};
  }
  constexpr std::size_t kFew = 6;
  const std::string more = known.size() > kFew ? ", ..." : "";
  const std::string hint = did_you_mean(name, known);
  known.resize(std::min(known.size(), kFew));
  throw InputError(fmt::format("no link {} (links: host0 to host{}{}{}{}){}", in_quotes(name), last,
                               known.empty() ? "" : ", ", fmt::join(known, ", "), more, hint));
}

std::vector<HostRun> host_runs(const Topology& topology, int switch_index, int most_single) {
  std::vector<HostRun> runs;
  const bool single = topology.hosts_at(switch_index) <= most_single;
  for (int i = 0; i < static_cast<int>(topology.hosts.size()); ++i) {
    const TopologyHost& host = topology.hosts[as_index(i)];
    if (host.at != switch_index) continue;
    if (!single && !runs.empty() && runs.back().last == i - 1 &&
        alike(topology.hosts[as_index(i - 1)], host))
      runs.back().last = i;
    else
      runs.push_back({i, i});
  }
  return runs;
}

std::string run_name(const Topology& topology, const HostRun& run) {
  const TopologyHost& first = topology.hosts[as_index(run.first)];
  const std::string role = first.role.empty() ? "" : " (" + first.role + ")";
  if (run.count() == 1) return first.name + role;
  return fmt::format("{} … {}{}", first.name, topology.hosts[as_index(run.last)].name, role);
}

LinkClasses link_classes(const Topology& topology) {
  LinkClasses result;
  for (int i = 0; i < topology.links(); ++i) {
    const LinkSpec& link = topology.link(i);
    auto found = std::find_if(result.classes.begin(), result.classes.end(),
                              [&](const LinkClass& known) { return known.link == link; });
    if (found == result.classes.end()) found = result.classes.insert(found, {link, 0, 0});
    ++(topology.is_trunk(i) ? found->trunks : found->hosts);
  }
  std::stable_sort(result.classes.begin(), result.classes.end(),
                   [](const LinkClass& a, const LinkClass& b) {
                     return a.hosts + a.trunks > b.hosts + b.trunks;
                   });
  for (int i = 0; i < topology.links(); ++i) {
    const auto found =
        std::find_if(result.classes.begin(), result.classes.end(),
                     [&](const LinkClass& known) { return known.link == topology.link(i); });
    result.class_of.push_back(static_cast<int>(found - result.classes.begin()));
  }
  return result;
}

bool is_tree(const Topology& topology) {
  return topology.trunks.size() + 1 == topology.switches.size();
}

int central_switch(const Topology& topology) {
  const Routes routes(topology);
  const int switches = static_cast<int>(topology.switches.size());
  const auto distance = [&](int from, int to) {
    int trunks = 0;
    for (; from != to; ++trunks) {
      const Trunk& trunk = topology.trunks[as_index(routes.next_trunk(from, to))];
      from = trunk.other(from);
    }
    return trunks;
  };
  std::tuple<int, int, int> best = {switches, 0, 0};  // farthest, hosts, index
  for (int i = 0; i < switches; ++i) {
    int farthest = 0;
    for (int other = 0; other < switches; ++other)
      farthest = std::max(farthest, distance(i, other));
    best = std::min(best, {farthest, topology.hosts_at(i), i});
  }
  return std::get<2>(best);
}

}  // namespace thinpipe
