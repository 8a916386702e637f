// From a topology's words to a network: the kind's lay-out, then the exceptions.
#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "netem/topology/kinds.h"
#include "netem/topology/routes.h"
#include "netem/topology/spec.h"

namespace thinpipe {

namespace {

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
  for (const int index : plan.links_named(name)) {
    plan.link(index) = change.applied_to(plan.link(index), link);
  }
}

}  // namespace

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
    if (hosts < 1) throw InputError(fmt::format("{} hosts: at least one is needed", hosts));
    if (const TopologyKind* named = find_topology_kind(kind))
      named->lay_out(*this, hosts, link, plan);
    else
      lay_out_file(*this, hosts, link, plan);
    for (const auto& [name, change] : exceptions) except(name, change, link, plan);
    Routes(plan).check_connected();
  } catch (const InputError& error) {
    throw InputError(fmt::format("topology {}: {}", in_quotes(plan.text), error.what()));
  }
  return plan;
}

}  // namespace thinpipe
