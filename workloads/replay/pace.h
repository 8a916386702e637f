// When a rank did what: how long a codec's work takes on this machine, which can be made to last as
// on one that runs slower; and the timeline of a step.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace thinpipe {

/// Adds up pieces of codec work. With a factor above 1 every piece is made to last `factor` times
/// what it took, as on a machine that runs so many times slower, less what earlier pieces lasted
/// too long; a factor below 1 stretches nothing, since work cannot be sped up.
///
/// A piece done by one thread takes its processor time: the time it would take on a core of its
/// own, whoever shares this one. With several threads, or a device that is waited for, it takes the
/// time that passed.
class Pace {
 public:
  /// @param threads  that do the work; kDevice where none does
  Pace(double factor, int threads) : factor_(factor), threads_(threads) {}
  static constexpr int kDevice = 0;

  /// Forgets what was added up.
  void reset() { own_ = overrun_ = 0; }
  void begin();
  /// Ends the piece begun last, not before it has lasted as long as it must.
  /// @returns s that it took
  double end();

  /// s that all pieces took, at this machine's own speed.
  double own() const { return own_; }
  /// s by which all pieces together lasted longer than they should: ranks that share a core, late
  /// timers. 0 where nothing is stretched.
  double overrun() const { return overrun_; }

 private:
  clockid_t clock() const { return threads_ == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC; }

  double factor_;
  int threads_;
  double begin_ = 0, own_begin_ = 0;
  double own_ = 0, overrun_ = 0;
};

/// Activity of a rank in a step.
enum class Phase { kCompute, kCompress, kExchange, kDecode };

const char* to_string(Phase phase);

/// s since the step began. Phases of one thread do not overlap; exchanges may run under the rest
/// and, with parameter servers, under each other.
struct PhaseSpan {
  Phase phase;
  std::size_t bucket;  ///< 0 for compute
  double begin, end;
};

using Timeline = std::vector<PhaseSpan>;

/// s for which `phase` was under way: where several of its spans overlap, once.
double time_in(const Timeline& timeline, Phase phase);

}  // namespace thinpipe
