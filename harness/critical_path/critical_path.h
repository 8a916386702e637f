// Critical path of a step: the chain of work and waits that determined when the step ended. The
// path is followed backwards, from the step's end to its begin. For a point's record: the critical
// paths of its steps, and the use of its links.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "harness/launch/machines.h"
#include "harness/worker/step_answer.h"
#include "netem/topology/topology.h"
#include "workloads/replay/pace.h"

namespace thinpipe {

/// Activity of one rank in a step.
struct StepTimeline {
  double begun = 0;  ///< s, by a common clock of all ranks; 0 without one
  double total = 0;  ///< s, from its begin to its end
  Timeline spans;
};

/// A parameter server's last answer in an exchange of a bucket, and the payload for which it
/// waited. From the arrival of this payload until the answer, the server's codec worked without a
/// pause. Times are in s by the clock of StepTimeline::begun.
struct ServedExchange {
  int host = 0;  ///< of the server
  std::size_t bucket = 0;
  int last = 0;         ///< the worker that sent this payload
  double arrived = 0;   ///< arrival of this payload
  double averaged = 0;  ///< `answered` minus the compression since `arrived`
  double answered = 0;
};

/// Activity in a section of the path.
enum class PathPhase {
  kStart,  ///< the rank had not begun, while another rank had
  kCompute,
  kCompress,
  kExchange,  ///< after all ranks had begun it: links, and the cost of sending
  kDecode,
  kOther,  ///< between phases
};
const char* to_string(PathPhase phase);

/// Seconds that one rank spent in one phase on the path.
struct PathPiece {
  int rank = 0;  ///< of a worker, or a server's host
  PathPhase phase = PathPhase::kOther;
  double seconds = 0;
};

struct StepPath {
  double length = 0;              ///< s, from the first rank's begin to the last rank's end
  std::vector<PathPiece> pieces;  ///< by rank and phase, longest first; their sum is `length`
  /// Waits in exchanges for the last rank to begin, in s: the median over the other ranks. A wait
  /// is attributed to the last rank, and to the phase in which that rank's time exceeded the median
  /// of the other ranks most. Waits are summed by rank and phase, longest first.
  std::vector<PathPiece> waits;
};

/// Returns the critical path of a step. No rank can end the exchange of a bucket before all ranks
/// have begun this exchange. The k-th exchange of a bucket on one rank is the same exchange as the
/// k-th on every other rank.
///
/// The path goes backwards from the end of the rank that ended last. Each span of work needs
/// earlier spans, and it waited for the needed span that ended last. Decoding needs its bucket's
/// exchange and the rank's earlier work. An exchange needs its bucket's compression and the earlier
/// exchanges, all on the rank that began the exchange last. Compression needs the rank's earlier
/// work and the gradient, which the rank's compute gives.
///
/// With parameter servers, an exchange ends with the last answer of a server. The exchange waited
/// for that server's codec. The codec waited for the worker whose payload arrived last, no matter
/// when other workers had begun.
/// @param codec_beside  compression overlapped compute and never delayed it
/// @param served  last answers of parameter servers, one for each exchange and server
StepPath critical_path(std::span<const StepTimeline> ranks, bool codec_beside = false,
                       std::span<const ServedExchange> served = {});

/// A link of the network, and the fraction of time for which its busier direction was sending. The
/// fraction is calculated from the direction's counted bytes and its rate.
struct LinkUse {
  std::string name;  ///< "host3", "rack0-spine"
  double busy = 0;
};

/// Returns the mean rate of a link in one direction, in bit/s; 0 if it is not throttled.
using RateOf = std::function<double(int link, bool up)>;

/// Returns the use of every throttled link, busiest first.
/// @param seconds  duration of the exchanges in which the bytes of `count` were counted
std::vector<LinkUse> link_uses(const WireCount& count, const Topology& topology, const RateOf& rate,
                               double seconds);

/// Returns the rates to which links were set.
RateOf rates_as_set(const Topology& topology);

/// Returns the workers' timelines of a step, for critical_path().
/// @param one_clock  all ranks share a clock
std::vector<StepTimeline> timelines_of(const StepAnswers& step, bool one_clock);

/// Returns the exchanges that servers reported for a step; empty where ranks share no clock.
std::vector<ServedExchange> served_by(const StepAnswers& step, bool one_clock);

/// Returns the s of exchanges in these steps, on the rank of each step that waited least.
double exchange_seconds(std::span<const std::vector<StepTimeline>> steps);

/// Returns the member `critical_path` of a record (docs/records.md).
/// @param paths  critical paths of every measured step
/// @param uses  use of the links, busiest first
/// @param time_scale  time dilation factor, by which all seconds are divided
nlohmann::json path_record(std::span<const StepPath> paths, std::span<const LinkUse> uses,
                           double time_scale);

/// Returns the host with the longest payloads, and the ratio of its payload bytes to the median of
/// the other hosts. Returns null if the host's payloads are not longer than this median, if the
/// median is 0, or if there is one host only.
/// @param steps  all measured steps
nlohmann::json longest_payload(std::span<const StepAnswers> steps);

}  // namespace thinpipe
