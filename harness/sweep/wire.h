// What the links of the network counted while ranks exchanged.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "netem/network.h"

namespace thinpipe {

/// Bytes that came into a switch and that left it, over all its links.
struct ThroughSwitch {
  std::string name;
  std::uint64_t in = 0, out = 0;
};

/// Bytes as the qdiscs count Ethernet frames.
struct WireCount {
  std::uint64_t sent = 0;   ///< by all hosts, on their own links
  std::uint64_t drops = 0;  ///< frames, on all links
  std::vector<ThroughSwitch> switches;
  struct OnTrunk {
    std::string name;
    std::uint64_t up = 0, down = 0, drops = 0;
  };
  std::vector<OnTrunk> trunks;
  /// What a host sent must pass a shaper of its own at the switch (place=switch, up.delay).
  struct Detour {
    std::string name;
    std::uint64_t in = 0, out = 0, drops = 0;
  };
  std::vector<Detour> detours;
  std::vector<std::uint64_t> sent_by;  ///< host by host, where it is known
  std::vector<std::uint64_t> received_by;
  /// TCP segments that each host sent, acknowledgements too, and those that it sent again, which are
  /// not among them: by its kernel's counters.
  std::vector<std::uint64_t> segments_by, retransmitted_by;
  bool restarted = false;  ///< some counter went back: a qdisc was replaced
  bool counted = true;     ///< else nobody does, and all is 0 (real hosts)
};

WireCount count_wire(const Network& network);

/// What was counted from `before` to `after`.
WireCount between(const WireCount& before, WireCount after);

/// The `trunks` of docs/records.md.
nlohmann::json trunks_json(const WireCount& count);

}  // namespace thinpipe
