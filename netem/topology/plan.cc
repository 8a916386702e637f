// From a topology's words to a network: the kind's lay-out, then the exceptions.
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "netem/topology/kinds.h"
#include "netem/topology/routes.h"
#include "netem/topology/spec.h"

namespace thinpipe {

namespace {

struct HostRange {
  int first = 0, last = 0;
};

// `host3` or `host4-7`; nothing for any other name.
std::optional<HostRange> host_range(std::string_view name) {
  constexpr std::string_view kHost = "host";
  if (!name.starts_with(kHost)) return std::nullopt;
  const char* end = name.data() + name.size();
  HostRange range;
  auto [rest, error] = std::from_chars(name.data() + kHost.size(), end, range.first);
  if (error != std::errc()) return std::nullopt;
  range.last = range.first;
  if (rest == end) return range;
  if (*rest != '-') return std::nullopt;
  const auto [rest_of_last, error_of_last] = std::from_chars(rest + 1, end, range.last);
  if (error_of_last != std::errc() || rest_of_last != end) return std::nullopt;
  return range;
}

void lay_out_file(const TopologySpec& spec, int hosts, const LinkSpec& link, Topology& plan) {
  if (hosts != spec.fixed_hosts())
    throw InputError(fmt::format("it places {} hosts, and {} are asked for (--ranks {} fits)",
                                 spec.fixed_hosts(), hosts, spec.fixed_hosts()));
  const LinkSpec own =
      spec.links.contains("hosts") ? spec.links.at("hosts").applied_to(LinkSpec{}, link) : link;
  const auto index_of = [&](const std::string& name) {
    int index = 0;
    while (spec.switches[static_cast<std::size_t>(index)].name != name) ++index;
    return index;
  };
  for (const TopologySpec::FileSwitch& one : spec.switches) {
    for (int i = 0; i < one.hosts; ++i)
      plan.hosts.push_back({fmt::format("host{}", plan.hosts.size()), "",
                            static_cast<int>(plan.switches.size()), own});
    plan.switches.push_back(one.name);
  }
  for (const TopologySpec::FileTrunk& trunk : spec.trunks)
    plan.trunks.push_back({index_of(trunk.a), index_of(trunk.b),
                           trunk.link.empty() ? link : trunk.link.applied_to(LinkSpec{}, link)});
}

void except(const std::string& name, const LinkChange& change, const LinkSpec& link,
            Topology& plan) {
  if (const auto range = host_range(name)) {
    const int hosts = static_cast<int>(plan.hosts.size());
    if (range->first > range->last || range->last >= hosts)
      throw InputError(fmt::format("{}: the hosts are host0 to host{}", name, hosts - 1));
    for (int i = range->first; i <= range->last; ++i) {
      LinkSpec& of_host = plan.hosts[static_cast<std::size_t>(i)].link;
      of_host = change.applied_to(of_host, link);
    }
    return;
  }
  std::vector<std::string> known;
  for (int i = static_cast<int>(plan.hosts.size()); i < plan.links(); ++i) {
    known.push_back(plan.link_name(i));
    Trunk& trunk = plan.trunks[static_cast<std::size_t>(i) - plan.hosts.size()];
    // A rack has one uplink, so its name will do.
    if (name != known.back() && name + "-spine" != known.back()) continue;
    trunk.link = change.applied_to(trunk.link, link);
    return;
  }
  constexpr std::size_t kFew = 6;
  const std::string more = known.size() > kFew ? ", ..." : "";
  const std::string hint = did_you_mean(name, known);
  known.resize(std::min(known.size(), kFew));
  throw InputError(fmt::format(
      "'{}' is no setting and no link of it; links: host0 to host{}{}{}{}{}", name,
      plan.hosts.size() - 1, known.empty() ? "" : ", ", fmt::join(known, ", "), more, hint));
}

}  // namespace

int TopologySpec::fixed_hosts() const {
  int hosts = 0;
  for (const FileSwitch& one : switches) hosts += one.hosts;
  return hosts;
}

Topology TopologySpec::plan(int hosts, const LinkSpec& link) const {
  Topology plan;
  plan.text = to_string();
  try {
    if (hosts < 1) throw InputError(fmt::format("{} hosts: at least one is needed", hosts));
    if (const TopologyKind* named = find_topology_kind(kind))
      named->lay_out(*this, hosts, link, plan);
    else
      lay_out_file(*this, hosts, link, plan);
    for (const auto& [name, change] : exceptions) except(name, change, link, plan);
    Routes(plan).check_connected();
  } catch (const InputError& error) {
    throw InputError(fmt::format("topology '{}': {}", plan.text, error.what()));
  }
  return plan;
}

}  // namespace thinpipe
