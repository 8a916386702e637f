#include "harness/sweep/wire.h"

namespace thinpipe {

WireCount count_wire(const Network& network) {
  const Topology& topology = network.topology();
  WireCount count;
  for (const std::string& name : topology.switches) count.switches.push_back({name, 0, 0});
  const auto at = [&](int index) -> ThroughSwitch& {
    return count.switches[static_cast<std::size_t>(index)];
  };
  for (int i = 0; i < topology.links(); ++i) {
    const LinkCounters link = network.counters(i);
    count.drops += link.drops();
    if (topology.is_trunk(i)) {
      const Trunk& trunk = topology.trunk_of(i);
      at(trunk.a).out += link.up.bytes;
      at(trunk.a).in += link.down.bytes;
      at(trunk.b).in += link.up.bytes;
      at(trunk.b).out += link.down.bytes;
      count.trunks.push_back({topology.link_name(i), link.up.bytes, link.down.bytes, link.drops()});
    } else {
      const int above = topology.hosts[static_cast<std::size_t>(i)].at;
      count.sent += link.up.bytes;
      at(above).in += link.up.bytes;
      at(above).out += link.down.bytes;
    }
  }
  return count;
}

WireCount between(const WireCount& before, WireCount after) {
  after.sent -= before.sent;
  after.drops -= before.drops;
  for (std::size_t i = 0; i < after.switches.size(); ++i) {
    after.switches[i].in -= before.switches[i].in;
    after.switches[i].out -= before.switches[i].out;
  }
  for (std::size_t i = 0; i < after.trunks.size(); ++i) {
    after.trunks[i].up -= before.trunks[i].up;
    after.trunks[i].down -= before.trunks[i].down;
    after.trunks[i].drops -= before.trunks[i].drops;
  }
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
