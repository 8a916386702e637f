// Critical path of a step: the chain of work and waits that ended last, backwards from the step's
// end to its begin.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/replay/pace.h"

namespace thinpipe {

/// Activity of one rank in a step.
struct StepTimeline {
  double begun = 0;  ///< s, by a common clock of all ranks; 0 without one
  double total = 0;  ///< s, from its begin to its end
  Timeline spans;
};

/// A parameter server's last answer in an exchange of a bucket. From the arrival of a payload on,
/// its codec worked without a pause until that answer. Times in s by the clock of
/// StepTimeline::begun.
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
  /// s that the other ranks (their median) waited in exchanges for the last rank to begin, with the
  /// phase in which that rank's time exceeded theirs most: by rank and phase, longest first.
  std::vector<PathPiece> waits;
};

/// Returns the critical path of a step. No rank can end a bucket's exchange before all ranks have
/// begun it, and a rank's k-th exchange of a bucket is every other rank's k-th exchange of it.
///
/// The path goes backwards from the end of the rank that ended last. Each span of work waited for
/// the span that ended last among those it needs. Decoding needs its bucket's exchange and the work
/// before it. An exchange needs its bucket's compression and the exchanges before it, on the rank
/// that began it last. Compression needs the work before it, and the gradient, which is compute.
///
/// With parameter servers an exchange ends with the last unit that a server answered. The exchange
/// waited for that server's codec, and the codec for the worker whose payload arrived last,
/// whenever other workers had begun.
/// @param codec_beside  compression overlapped compute and never delayed it
/// @param served  by parameter servers, one for each exchange and server
StepPath critical_path(std::span<const StepTimeline> ranks, bool codec_beside = false,
                       std::span<const ServedExchange> served = {});

}  // namespace thinpipe
