// Critical path of a step: the chain of work and waiting that ended last, backwards from the step's
// end to its begin.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/replay/pace.h"

namespace thinpipe {

/// Activity of one rank in a step.
struct StepTimeline {
  double begun = 0;  ///< s, by a clock of all ranks; 0 where they have none
  double total = 0;  ///< s, from its begin to its end
  Timeline spans;
};

/// How a parameter server came to what it answered last of a bucket: its codec worked without a
/// pause from when a payload arrived. Times in s by the clock of StepTimeline::begun.
struct ServedExchange {
  int host = 0;  ///< the server's
  std::size_t bucket = 0;
  int last = 0;         ///< the worker whose payload that was
  double arrived = 0;   ///< when
  double averaged = 0;  ///< `answered` less what was spent on compressing since then
  double answered = 0;
};

/// Activity in a section of the path.
enum class PathPhase {
  kStart,  ///< the rank had not begun yet, while another had
  kCompute,
  kCompress,
  kExchange,  ///< all ranks had come to it: links, and what it takes to send
  kDecode,
  kOther,  ///< between phases
};
const char* to_string(PathPhase phase);

/// Seconds of a phase of a rank.
struct PathPiece {
  int rank = 0;  ///< a worker's, or a server's host
  PathPhase phase = PathPhase::kOther;
  double seconds = 0;
};

struct StepPath {
  double length = 0;              ///< s, from the first rank's begin to the last one's end
  std::vector<PathPiece> pieces;  ///< one a rank and phase, longest first; they add up to `length`
  /// How long the others (their median) stood in exchanges before the last rank came, and in which
  /// phase that rank had spent most more time than they: one a rank and phase, longest first.
  std::vector<PathPiece> waits;
};

/// Every bucket's exchange is one that no rank can end before all have begun it; a rank's k-th one
/// of a bucket is every other's k-th one of it.
///
/// From the end of the rank that ended last: what a piece of work waited for is the one that ended
/// last among those it needs. Decoding needs its bucket's exchange and the work before it; an
/// exchange its bucket's compression and the exchanges before it, on the rank that began it last;
/// compression the work before it and, back to that, the gradient: compute.
/// With parameter servers an exchange ends with the unit that a server answered last. It waited
/// for that server's codec, and that for the worker whose payload it had been waiting for,
/// whenever others had begun.
/// @param codec_beside  compression ran beside compute and held it up nowhere
/// @param served  by parameter servers, one an exchange and server
StepPath critical_path(std::span<const StepTimeline> ranks, bool codec_beside = false,
                       std::span<const ServedExchange> served = {});

}  // namespace thinpipe
