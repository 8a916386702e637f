// The machines of a sweep's ranks, emulated hosts or real ones, and the counters of their links.
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

/// Bytes that a switch received and forwarded, over all its links.
struct ThroughSwitch {
  std::string name;
  std::uint64_t in = 0, out = 0;
};

/// Counters of the links during exchanges. Bytes are those of Ethernet frames, as qdiscs count
/// them.
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
  std::vector<std::uint64_t> sent_by;  ///< host by host; empty where unknown
  std::vector<std::uint64_t> received_by;
  std::vector<std::uint64_t> drops_by;  ///< frames, on each host's own link
  /// Numbers of TCP segments and of retransmissions that each host sent, from its kernel's
  /// counters. Segments include acknowledgements but no retransmissions.
  std::vector<std::uint64_t> segments_by, retransmitted_by;
  bool restarted = false;  ///< some counter went back: a qdisc was replaced
  bool counted = true;     ///< false on real hosts without --shape; all counts are then 0
};

/// Returns the counters of the emulated network's links so far.
WireCount count_wire(const Network& network);

/// Returns the counts from `before` to `after`.
WireCount between(const WireCount& before, WireCount after);

/// Returns the `trunks` of docs/records.md.
nlohmann::json trunks_json(const WireCount& count);

/// How mpirun starts ranks, and how ranks reach the sweep.
struct Boarding {
  /// mpirun's arguments that set the ranks' hosts and interfaces.
  std::vector<std::string> mpirun;
  /// A folder in memory that all ranks and this process share; control messages pass through a UNIX
  /// socket in it. "" when each rank has a machine of its own, and control messages use TCP.
  std::string shared_folder;
  /// TCP addresses of this machine, tried in this order.
  std::vector<std::string> control_addresses;
  /// Names of the ranks' machines, by rank, for messages; empty when ranks share this machine.
  std::vector<std::string> hosts;

  /// Adds the setting of one of Open MPI's parameters to mpirun's arguments.
  void set(const char* parameter, const std::string& value) {
    mpirun.insert(mpirun.end(), {"--mca", parameter, value});
  }
  /// Has mpirun reach the hosts of its `--host` by `agent`, a command like ssh. Also within a job
  /// of a batch system, from which Open MPI would otherwise take the hosts and the launcher.
  void set_agent(const std::string& agent) {
    set("plm", "rsh");
    set("plm_rsh_agent", agent);
    set("ras", "^alps,gridengine,lsf,slurm,tm");
  }
};

class Machines {
 public:
  virtual ~Machines() = default;

  /// Returns the number of machines. A launch of n ranks runs one rank on each of the first n
  /// machines.
  virtual int size() const = 0;
  /// Prepares mpirun's files and environment variables, and returns how to start it.
  virtual Boarding board(int ranks) = 0;

  /// Sets the links of all machines whose links thinpipe may set, with time dilation by this factor
  /// (netem/topology/time_scale.h). Call it between transfers.
  virtual void set_links(const LinkSpec& link, double time_scale) = 0;
  /// Returns the links' counters so far, where they are counted. @param ranks  of the launch
  virtual WireCount count_wire(int ranks) = 0;
  /// Returns the bytes of the largest IP packet on a link.
  /// @param launch  the running ranks, whose connections tell the MTU of links that thinpipe does
  /// not set; null without any
  virtual std::uint32_t mtu(const LinkSpec& link, const Launch* launch) const = 0;
  /// Sets the links and measures TCP's goodput in each direction. The links stay set.
  /// @param launch  the running ranks, if needs_ranks_to_calibrate(); otherwise it may be null
  /// @throws RunError when no traffic passes, or a stop was requested.
  virtual LinkCalibration calibrate(const LinkSpec& link, double time_scale, Launch* launch) = 0;
  virtual bool needs_ranks_to_calibrate() const { return false; }
  /// Returns in words the links whose settings in the kernel no longer match set_links(), because
  /// another program changed them. Do not use it for links that a schedule changes.
  virtual std::vector<std::string> drift() = 0;
  /// Returns true if thinpipe itself sets the links as the records name them. A measured deviation
  /// from these settings then makes a point invalid.
  virtual bool sets_links() const = 0;

  /// Returns the emulated network; null on real machines.
  virtual Network* network() { return nullptr; }
  /// Returns the sysctls of the hosts; empty where thinpipe does not set them.
  virtual std::map<std::string, std::string> sysctls() const = 0;
  /// Returns the description of the machines for a run's header: their kind, and the reasons why
  /// something is not known or not done on them.
  virtual nlohmann::json description() const = 0;
};

}  // namespace thinpipe
