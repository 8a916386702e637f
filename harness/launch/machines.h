// The machines that a sweep's ranks run on, emulated hosts or real ones, and what their links
// count.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/launch/calibration.h"
#include "netem/link/link_spec.h"
#include "netem/network.h"

namespace thinpipe {

class Launch;

/// Bytes that came into a switch and that left it, over all its links.
struct ThroughSwitch {
  std::string name;
  std::uint64_t in = 0, out = 0;
};

/// Counters of the links while ranks exchanged: bytes as the qdiscs count Ethernet frames.
struct WireCount {
  std::uint64_t sent = 0;   ///< by all hosts, on their own links
  std::uint64_t drops = 0;  ///< frames, on all links
  std::vector<ThroughSwitch> switches;
  struct OnTrunk {
    std::string name;
    std::uint64_t up = 0, down = 0, drops = 0;
  };
  std::vector<OnTrunk> trunks;
  /// A host's own shaper at the switch, which its traffic passes (place=switch, up.delay).
  struct Detour {
    std::string name;
    std::uint64_t in = 0, out = 0, drops = 0;
  };
  std::vector<Detour> detours;
  std::vector<std::uint64_t> sent_by;  ///< host by host, where it is known
  std::vector<std::uint64_t> received_by;
  /// TCP segments that each host sent, acknowledgements too, and those that it sent again, which
  /// are not among them: by its kernel's counters.
  std::vector<std::uint64_t> segments_by, retransmitted_by;
  bool restarted = false;  ///< some counter went back: a qdisc was replaced
  bool counted = true;     ///< else nobody does, and all is 0 (real hosts)
};

/// Counters of the emulated network's links so far.
WireCount count_wire(const Network& network);

/// Counts from `before` to `after`.
WireCount between(const WireCount& before, WireCount after);

/// The `trunks` of docs/records.md.
nlohmann::json trunks_json(const WireCount& count);

/// How the ranks come to the sweep, and what else they are started with.
struct Boarding {
  /// mpirun's words that say where ranks run and by which interfaces they talk.
  std::vector<std::string> mpirun;
  /// A folder in memory that all ranks and this process see; "" when each rank has a machine of its
  /// own. Control is then by TCP, else by a UNIX socket in it.
  std::string shared_folder;
  /// Where this machine is found by TCP, tried in this order.
  std::vector<std::string> control_addresses;
};

class Machines {
 public:
  virtual ~Machines() = default;

  /// How many there are. A launch of n ranks has one on each of the first n.
  virtual int size() const = 0;
  /// Prepares what mpirun needs (files, environment variables) and says how to start it.
  virtual Boarding board(int ranks) = 0;

  /// Sets the links of all machines, as far as they are ours to set, in slow motion by this factor
  /// (netem/topology/time_scale.h). Call it between transfers.
  virtual void set_links(const LinkSpec& link, double time_scale) = 0;
  /// Counters of the links so far, as far as somebody counts. @param ranks  of the launch
  virtual WireCount count_wire(int ranks) = 0;
  /// Largest IP packet on a link.
  virtual std::uint32_t mtu(const LinkSpec& link) const = 0;
  /// Sets the links and measures what TCP gets of them, each way; they stay set.
  /// @param launch  all ranks, where needs_ranks_to_calibrate(); else it may be null
  /// @throws RunError when traffic does not come through, or a stop was asked for.
  virtual LinkCalibration calibrate(const LinkSpec& link, double time_scale, Launch* launch) = 0;
  virtual bool needs_ranks_to_calibrate() const { return false; }
  /// Links that no longer match set_links(), in words, as read back from the kernel: somebody else
  /// changed them. Not for links that a schedule changes.
  virtual std::vector<std::string> alterations() = 0;
  /// Whether links were set to what the records call them, so that a deviation speaks against a
  /// point.
  virtual bool sets_links() const = 0;

  /// The emulated network, for what only one can do; null on real machines.
  virtual Network* network() { return nullptr; }
  /// The sysctls in force on the hosts; empty where they are not ours to set.
  virtual std::map<std::string, std::string> sysctls() const = 0;
  /// For a run's header: what they are, and what is not known or not done on them and why.
  virtual nlohmann::json description() const = 0;
};

}  // namespace thinpipe
