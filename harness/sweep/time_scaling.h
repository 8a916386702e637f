// Time scaling: which factor suits a point on this machine (`--time-scale auto`), and from what
// ranks measured on links in slow (or fast) motion to the times of the emulated machines.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "harness/worker/step_answer.h"
#include "netem/link/link_spec.h"
#include "netem/network.h"
#include "netem/topology/topology.h"

namespace thinpipe {

/// Capacity of a machine that hosts so many ranks.
struct Capacity {
  int cores = 1;
  int ranks = 2;
  int threads = 1;  ///< of each rank's codec
  /// bit/s of payload that one TCP flow carried from host to host over a link as fast as it goes
  /// (ceiling_link()); 0 where nothing was to be measured: one rank.
  double flow = 0;

  /// bit/s that every rank can receive while all send round a ring: a flow keeps two cores busy,
  /// its sender's and its receiver's.
  double per_rank() const;
};

struct TimeScaleChoice {
  double factor = 1;
  std::string why;       ///< for people: what decided
  bool refused = false;  ///< no factor gives true proportions; `why` says what stands against it
};

/// The smallest of 1, 2, 5, 10, 20 ... 1000 at which a link takes at most a quarter of what the
/// machine can bring each rank and every rank's codec can have as much of a core as on a machine of
/// its own. Never below 1: how long a codec takes is not known beforehand. Refused where no such
/// factor will do, and where a link loses or reorders frames and would have to be slowed down:
/// TCP's timers do not slow down with it.
TimeScaleChoice choose_time_scale(const LinkSpec& link, const Capacity& machine);
/// The same for a network: no rank is given more than its fastest link carries, and none of its
/// links may be one that must not be slowed down.
TimeScaleChoice choose_time_scale(const Topology& topology, const Capacity& machine);

/// Link to measure Capacity::flow over: the same qdiscs, which cost the same processor time, with
/// nothing that slows frames down.
LinkSpec ceiling_link(const LinkSpec& link);

/// `--time-scale auto` in a sweep: the machine is measured once for every link and number of ranks.
class ScaleChooser {
 public:
  /// @param threads  of each rank's codec
  explicit ScaleChooser(int threads) : threads_(threads) {}

  /// Was nothing chosen under this key, for so many ranks, before?
  bool is_new(const std::string& key, int ranks) const { return !choices_.contains({key, ranks}); }

  /// Sets the links as fast as they go, measures a flow from the first rank's host to the last's
  /// for a second and chooses; under a key that is known, what was chosen. Links must be set anew
  /// afterwards.
  /// @param busiest  the network at the highest rates it will have
  /// @throws RunError as measure_flows() does.
  const TimeScaleChoice& choose(Network& network, const std::string& key, int ranks,
                                const Topology& busiest);

 private:
  using Key = std::pair<std::string, int>;

  int threads_;
  std::map<Key, TimeScaleChoice> choices_;
};

/// Rewrites what workers measured in one step that was run with a time scale other than 1.
///
/// Each rank's exchange should begin when its compute time and its codec's own time have passed,
/// `factor` times stretched. Where the codec could not be done by then the exchange began `shift`
/// later than it should: that is taken out. Then, in the emulated machine's time,
///
///   compute = the captured time      compress = the codec's own time
///   exchange = (its end - shift) / factor - compute - compress, at least 0
///   decode = the decoding's own time      total = compute + compress + exchange + decode
///
/// All of the exchange is exposed, and links are idle in the rest.
/// The measured times stay in `raw`. `late` is divided by the factor. `skew` is how far, in the
/// emulated machine's time, a rank's beginning was off the others', and by how much its codec took
/// too long between exchanges. The step's time may be off by as much.
///
/// With `overlapped` buckets left while compute went on, and the factor is above 1. All of it was
/// stretched then, decoding too: compute, compress and decode are the captured and the codec's own
/// time, and all that passed beside each other is what was measured over the factor. `skew` is by
/// how much codec work lasted too long.
///
/// Codec times of servers are divided.
void scale_step(StepAnswers& step, double factor, bool overlapped);

/// The `raw` of docs/records.md, of steps that were rewritten: by metric, step by step.
nlohmann::json raw_times(const std::vector<StepAnswers>& steps, bool overlapped);

/// Why the scaled times should not be trusted; empty when nothing speaks against them.
std::vector<std::string> scale_doubts(const std::vector<StepAnswers>& steps, double factor);

}  // namespace thinpipe
