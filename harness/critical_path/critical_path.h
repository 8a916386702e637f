// Critical path of a step: the chain of work and waits that determined when the step ended. The
// path is followed backwards, from the step's end to its begin.
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

/// Adds a piece of more than 0 s to the one of the same rank and phase.
void add_piece(std::vector<PathPiece>& pieces, const PathPiece& more);
void sort_longest_first(std::vector<PathPiece>& pieces);

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

}  // namespace thinpipe
