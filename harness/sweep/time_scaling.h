// Time dilation: chooses the factor of a point on this machine (`--time-scale auto`), and converts
// times that ranks measured on dilated links to those of the emulated machines.
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

/// Capacity of a machine that hosts a number of ranks.
struct Capacity {
  int cores = 1;
  int ranks = 2;
  int threads = 1;  ///< of each rank's codec
  /// Payload rate in bit/s of one TCP flow from host to host over the fastest link
  /// (ceiling_link()); 0 with one rank, which sends nothing.
  double flow = 0;

  /// Returns the rate in bit/s at which every rank can receive while all send round a ring: a flow
  /// keeps two cores busy, its sender's and its receiver's.
  double per_rank() const;
};

struct TimeScaleChoice {
  double factor = 1;
  std::string why;       ///< the deciding limit, for people
  bool refused = false;  ///< no factor keeps the proportions; `why` has the reason
};

/// Returns the smallest time dilation factor of 1, 2, 5, 10, 20 ... 1000 that meets two conditions:
/// each rank's link needs at most a quarter of what this machine can carry per rank, and each
/// rank's codec gets as much of a core as on a machine of its own. Factors below 1 would need codec
/// times, which are not known before the measurement. The choice is refused if 1000 does not
/// suffice, and if a link that loses or reorders frames would have to be dilated, because TCP's
/// timers are not dilated with the link.
TimeScaleChoice choose_time_scale(const LinkSpec& link, const Capacity& machine);
/// Chooses the factor for a network in the same way. The network's fastest link decides. The choice
/// is refused if even one link must not be slowed down.
TimeScaleChoice choose_time_scale(const Topology& topology, const Capacity& machine);

/// Returns the link to measure Capacity::flow over: the same qdiscs, which cost the same CPU time,
/// at the highest rate and without delay.
LinkSpec ceiling_link(const LinkSpec& link);

/// `--time-scale auto` in a sweep: measures the machine once for every link and number of ranks.
class ScaleChooser {
 public:
  /// @param threads  of each rank's codec
  explicit ScaleChooser(int threads) : threads_(threads) {}

  /// Returns true if nothing has been chosen yet under this key for so many ranks.
  bool is_new(const std::string& key, int ranks) const { return !choices_.contains({key, ranks}); }

  /// Sets the links to their highest rates, measures a flow from the first rank's host to the last
  /// rank's host for a second, and chooses a factor. If a choice under this key exists already,
  /// returns it. Links must be set again afterwards.
  /// @param busiest  the network at the highest rates it will have
  /// @throws RunError as measure_flows() does.
  const TimeScaleChoice& choose(Network& network, const std::string& key, int ranks,
                                const Topology& busiest);

 private:
  using Key = std::pair<std::string, int>;

  int threads_;
  std::map<Key, TimeScaleChoice> choices_;
};

/// Converts the times of one step that ran with time dilation to those of the emulated machines.
///
/// Each rank's exchange is planned to begin after `factor` times the sum of its compute time and
/// its codec's own time. If the codec is not done by then, the exchange begins `shift` later, and
/// `shift` is subtracted. Then, in the emulated machine's time,
///
///   compute = the captured time      compress = the codec's own time
///   exchange = (its end - shift) / factor - compute - compress, at least 0
///   decode = the decoding's own time      total = compute + compress + exchange + decode
///
/// All of the exchange is exposed, and links are idle in the rest of the step. The measured times
/// stay in `raw`. `late` is divided by the factor. `skew` is the error of the step's time, in the
/// emulated machine's time. It is the time by which a rank began off the other ranks, plus the time
/// by which its codec took too long between exchanges.
///
/// `overlapped` buckets are exchanged while compute goes on, and need a factor above 1. In such a
/// step everything is dilated, decoding too. compute is then the captured time; compress and decode
/// are the codec's own times. The times of overlapping phases are the measured times divided by the
/// factor. `skew` is the time by which codec work lasted too long.
///
/// Codec times of servers are divided by the factor.
void scale_step(StepAnswers& step, double factor, bool overlapped);

/// Returns the `raw` of docs/records.md, of steps after scale_step(): by metric, step by step.
nlohmann::json raw_times(const std::vector<StepAnswers>& steps, bool overlapped);

/// Returns the reasons not to trust the scaled times; empty if there are none.
std::vector<std::string> scale_warnings(const std::vector<StepAnswers>& steps, double factor);

}  // namespace thinpipe
