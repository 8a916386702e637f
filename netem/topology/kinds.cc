// The named topologies, and planning a network from a topology's spec.
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "netem/topology/flows.h"
#include "netem/topology/spec.h"

namespace thinpipe {
namespace {

constexpr int kMaxGroups = 64;  // racks or sites: a full mesh of so many has 2016 links

// Returns the value of a setting, or its default.
std::string topology_value(const TopologySpec& spec, const std::string& name) {
  if (const auto found = spec.values.find(name); found != spec.values.end()) return found->second;
  for (const TopologySetting& setting : find_topology_kind(spec.kind)->values)
    if (name == setting.name) return setting.default_value;
  return "";
}

template <typename Number>
Number number(const TopologySpec& spec, const char* name, Number least, Number most) {
  const std::string text = topology_value(spec, name);
  if (const auto value = parse_number<Number>(text, least, most)) return *value;
  throw InputError(fmt::format("{}={}: expected a {}number from {} to {}", name, excerpt(text),
                               std::is_integral_v<Number> ? "whole " : "", least, most));
}

int count_of(const TopologySpec& spec, const char* name, int least) {
  return number<int>(spec, name, least, kMaxGroups);
}

bool spread(const TopologySpec& spec) {
  const std::string text = topology_value(spec, "placement");
  if (text != "block" && text != "spread")
    throw InputError(fmt::format("placement={}: expected block or spread", text));
  return text == "spread";
}

const LinkChange* given(const TopologySpec& spec, const char* name) {
  const auto found = spec.links.find(name);
  return found == spec.links.end() ? nullptr : &found->second;
}

LinkSpec link_or(const TopologySpec& spec, const char* name, const LinkSpec& otherwise,
                 const LinkSpec& reference) {
  const LinkChange* link = given(spec, name);
  return link == nullptr ? otherwise : link->applied_to(LinkSpec{}, reference);
}

// Places hosts 0, 1, 2, ... on one switch after the other (block) or round-robin (spread).
void place_hosts(const TopologySpec& spec, int hosts, int groups, const char* group,
                 const LinkSpec& link, Topology& plan) {
  if (hosts < groups)
    throw InputError(
        fmt::format("{} hosts are too few for {} {}s (at least one each)", hosts, groups, group));
  const bool round_robin = spread(spec);
  for (int i = 0; i < hosts; ++i) {
    // The first hosts % groups blocks have one host more.
    const int longer = hosts % groups, size = hosts / groups;
    const int at = round_robin               ? i % groups
                   : i < longer * (size + 1) ? i / (size + 1)
                                             : (i - longer) / size;
    plan.hosts.push_back({fmt::format("host{}", i), "", at, link});
  }
}

void no_check(const TopologySpec&) {}

void lay_out_star(const TopologySpec& spec, int hosts, const LinkSpec& link, Topology& plan) {
  plan.switches = {"switch"};
  for (int i = 0; i < hosts; ++i)
    plan.hosts.push_back({fmt::format("host{}", i), "", 0, link_or(spec, "hosts", link, link)});
}

void check_racks(const TopologySpec& spec) {
  count_of(spec, "racks", 2);
  spread(spec);
  number<double>(spec, "oversubscription", 0.01, 1000);
  if (given(spec, "uplink") != nullptr && spec.values.contains("oversubscription"))
    throw InputError("uplink and oversubscription both set the uplinks' rate; give one of them");
}

void lay_out_racks(const TopologySpec& spec, int hosts, const LinkSpec& link, Topology& plan) {
  const int racks = count_of(spec, "racks", 2);
  const LinkSpec own = link_or(spec, "hosts", link, link);
  place_hosts(spec, hosts, racks, "rack", own, plan);
  LinkSpec uplink;
  if (const LinkChange* text = given(spec, "uplink")) {
    uplink = text->applied_to(LinkSpec{}, link);
  } else if (own.throttled()) {
    const int most = (hosts + racks - 1) / racks;
    const double factor = most / number<double>(spec, "oversubscription", 0.01, 1000);
    uplink = LinkChange::parse(fmt::format("rate={}x", factor)).applied_to(LinkSpec{}, own);
  }
  for (int i = 0; i < racks; ++i) {
    plan.switches.push_back(fmt::format("rack{}", i));
    plan.trunks.push_back({i, racks, uplink});
  }
  plan.switches.push_back("spine");
}

void check_wan(const TopologySpec& spec) {
  count_of(spec, "sites", 2);
  spread(spec);
}

void lay_out_wan(const TopologySpec& spec, int hosts, const LinkSpec& link, Topology& plan) {
  const int sites = count_of(spec, "sites", 2);
  place_hosts(spec, hosts, sites, "site", link_or(spec, "hosts", LinkSpec{}, link), plan);
  for (int i = 0; i < sites; ++i) plan.switches.push_back(fmt::format("site{}", i));
  for (int a = 0; a < sites; ++a)
    for (int b = a + 1; b < sites; ++b) plan.trunks.push_back({a, b, link});
}

void check_ps(const TopologySpec& spec) { count_of(spec, "servers", 1); }

void lay_out_ps(const TopologySpec& spec, int hosts, const LinkSpec& link, Topology& plan) {
  const int servers = count_of(spec, "servers", 1);
  if (hosts <= servers)
    throw InputError(
        fmt::format("{} hosts with {} servers leave no host for a worker", hosts, servers));
  lay_out_star(spec, hosts, link, plan);
  // After the workers, in the order of the ranks.
  for (int i = hosts - servers; i < hosts; ++i) {
    TopologyHost& host = plan.hosts[as_index(i)];
    host.role = "server";
    host.link = link_or(spec, "server", host.link, link);
  }
}

constexpr TopologySetting kPlacement = {
    "placement", "block", "host0, host1, ... in blocks (block) or round-robin (spread)"};

void lay_out_file(const TopologySpec& spec, int hosts, const LinkSpec& link, Topology& plan) {
  if (hosts != spec.fixed_hosts())
    throw InputError(fmt::format("the file has {} hosts, but {} are requested (use --ranks {})",
                                 spec.fixed_hosts(), hosts, spec.fixed_hosts()));
  const LinkSpec own = link_or(spec, "hosts", link, link);
  const auto index_of = [&](const std::string& name) {
    int index = 0;
    while (spec.switches[as_index(index)].name != name) ++index;
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

}  // namespace

const std::vector<TopologyKind>& topology_kinds() {
  static const std::vector<TopologyKind> kKinds = {
      {"star",
       "all hosts on one switch; --link is the hosts' link",
       {},
       {{"hosts", "", "the hosts' link, instead of --link"}},
       no_check,
       lay_out_star},
      {"racks",
       "a switch for each rack and a spine above them; --link is the hosts' link",
       {{"racks", "2", "number of racks"},
        {"oversubscription", "4", "sum of the rates of a rack's hosts over its uplink's rate"},
        kPlacement},
       {{"hosts", "", "the hosts' link, instead of --link"},
        {"uplink", "", "from each rack to the spine, instead of oversubscription"}},
       check_racks,
       lay_out_racks},
      {"wan",
       "fully meshed datacentres; --link is the link between every two of them",
       {{"sites", "3", "number of datacentres"}, kPlacement},
       {{"hosts", "unthrottled", "the hosts' link inside their datacentre"}},
       check_wan,
       lay_out_wan},
      {"ps",
       "a star in which the last hosts are parameter servers",
       {{"servers", "1", "number of servers"}},
       {{"hosts", "", "the workers' link, instead of --link"},
        {"server", "", "the servers' link, instead of the workers'"}},
       check_ps,
       lay_out_ps},
  };
  return kKinds;
}

const TopologyKind* find_topology_kind(std::string_view name) {
  for (const TopologyKind& kind : topology_kinds())
    if (name == kind.name) return &kind;
  return nullptr;
}

int TopologySpec::fixed_hosts() const {
  int hosts = 0;
  for (const FileSwitch& one : switches) hosts += one.hosts;
  return hosts;
}

int TopologySpec::servers() const {
  return kind == "ps" ? std::stoi(topology_value(*this, "servers")) : 0;
}

Topology TopologySpec::plan(int hosts, const LinkSpec& link) const {
  Topology plan;
  plan.text = to_string();
  try {
    if (hosts < 1) throw InputError(fmt::format("{} hosts; expected at least one", hosts));
    if (const TopologyKind* named = find_topology_kind(kind))
      named->lay_out(*this, hosts, link, plan);
    else
      lay_out_file(*this, hosts, link, plan);
    for (const auto& [name, change] : exceptions)
      for (const int index : plan.links_named(name))
        plan.link(index) = change.applied_to(plan.link(index), link);
    Routes(plan).check_connected();
  } catch (const InputError& error) {
    throw InputError(fmt::format("topology {}: {}", in_quotes(plan.text), error.what()));
  }
  return plan;
}

}  // namespace thinpipe
