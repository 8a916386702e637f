#include "harness/launch/machines.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "netem/topology/flows.h"

namespace thinpipe {
namespace {

/// A host's link and its kernel's TCP at one moment.
struct HostCount {
  LinkCounters link;
  std::uint64_t segments = 0, retransmitted = 0;
};

// Reads the counters of the host's link and of its TCP until TCP has sent nothing between two
// readings. A frame that TCP sends between two readings would be in one of the counters only. Hosts
// send nothing while they are counted, except for retransmissions of TCP.
HostCount count_host(const Network& network, int host) {
  constexpr int kMaxReadings = 10;
  HostCount count;
  for (int i = 0; i <= kMaxReadings; ++i) {
    const auto tcp = network.host(host).protocol_counters("Tcp");
    const auto segments = static_cast<std::uint64_t>(tcp.at("OutSegs")),
               retransmitted = static_cast<std::uint64_t>(tcp.at("RetransSegs"));
    if (i > 0 && segments == count.segments && retransmitted == count.retransmitted) break;
    count = {network.counters(host), segments, retransmitted};
  }
  return count;
}

}  // namespace

WireCount count_wire(const Network& network) {
  const Topology& topology = network.topology();
  WireCount count;
  for (const std::string& name : topology.switches) count.switches.push_back({name, 0, 0});
  const std::vector<LinkSpec> links = links_as_set(topology);
  const auto at = [&](int index) -> ThroughSwitch& {
    return count.switches[static_cast<std::size_t>(index)];
  };
  for (int i = 0; i < topology.links(); ++i) {
    const bool is_trunk = topology.is_trunk(i);
    const HostCount host = is_trunk ? HostCount{network.counters(i)} : count_host(network, i);
    const LinkCounters& link = host.link;
    count.drops += link.drops();
    if (links[static_cast<std::size_t>(i)].needs_ifb())
      count.detours.push_back(
          {topology.link_name(i), link.up.bytes, link.uplink.bytes, link.uplink.drops});
    if (is_trunk) {
      const Trunk& trunk = topology.trunk_of(i);
      at(trunk.a).out += link.up.bytes;
      at(trunk.a).in += link.down.bytes;
      at(trunk.b).in += link.up.bytes;
      at(trunk.b).out += link.down.bytes;
      count.trunks.push_back({topology.link_name(i), link.up.bytes, link.down.bytes, link.drops()});
    } else {
      const int above = topology.hosts[static_cast<std::size_t>(i)].at;
      count.sent += link.up.bytes;
      count.sent_by.push_back(link.up.bytes);
      count.received_by.push_back(link.down.bytes);
      count.drops_by.push_back(link.drops());
      count.segments_by.push_back(host.segments);
      count.retransmitted_by.push_back(host.retransmitted);
      at(above).in += link.up.bytes;
      at(above).out += link.down.bytes;
    }
  }
  return count;
}

WireCount between(const WireCount& before, WireCount after) {
  bool restarted = false;
  // A counter that went back becomes 0.
  const auto subtract = [&](std::uint64_t& counter, std::uint64_t earlier) {
    restarted = restarted || counter < earlier;
    counter -= std::min(counter, earlier);
  };
  const auto subtract_all = [&](auto& counted, const auto& earlier, auto... counters) {
    for (std::size_t i = 0; i < counted.size(); ++i)
      (subtract(counted[i].*counters, earlier[i].*counters), ...);
  };
  subtract(after.sent, before.sent);
  subtract(after.drops, before.drops);
  subtract_all(after.switches, before.switches, &ThroughSwitch::in, &ThroughSwitch::out);
  subtract_all(after.trunks, before.trunks, &WireCount::OnTrunk::up, &WireCount::OnTrunk::down,
               &WireCount::OnTrunk::drops);
  subtract_all(after.detours, before.detours, &WireCount::Detour::in, &WireCount::Detour::out,
               &WireCount::Detour::drops);
  for (const auto by_host : {&WireCount::sent_by, &WireCount::received_by, &WireCount::drops_by,
                             &WireCount::segments_by, &WireCount::retransmitted_by})
    for (std::size_t i = 0; i < (after.*by_host).size(); ++i)
      subtract((after.*by_host)[i], (before.*by_host)[i]);
  after.restarted = restarted;
  return after;
}

nlohmann::json trunks_json(const WireCount& count) {
  nlohmann::json trunks = nlohmann::json::array();
  for (const WireCount::OnTrunk& trunk : count.trunks)
    trunks.push_back({{"link", trunk.name},
                      {"up_bytes", trunk.up},
                      {"down_bytes", trunk.down},
                      {"drops", trunk.drops}});
  return trunks;
}

}  // namespace thinpipe
