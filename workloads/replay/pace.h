// Measures a rank's codec work, makes it last as long as on a slower machine if requested, and
// records the timeline of a step.
#pragma once

#include <cstddef>
#include <vector>

#include "base/clock.h"

namespace thinpipe {

/// Adds up intervals of codec work. With a factor above 1, every interval is made to last `factor`
/// times its own duration, as on a machine that is `factor` times slower. The overrun of earlier
/// intervals is subtracted. A factor below 1 changes nothing, since work cannot be sped up.
///
/// The duration of work by one thread is its CPU time: the time on a core of its own, even where
/// other processes share the core. With several threads, or with a device to wait for, it is the
/// elapsed time.
class Pace {
 public:
  /// @param threads  number of threads that do the work; kDevice if a device does it
  Pace(double factor, int threads) : factor_(factor), threads_(threads) {}
  static constexpr int kDevice = 0;

  /// Resets own() and overrun() to 0.
  void reset() { own_ = overrun_ = 0; }
  /// Begins an interval.
  void begin() {
    begin_ = now_seconds();
    own_begin_ = now_seconds(clock());
  }
  /// Waits until the interval has lasted as long as the factor requires, and ends it.
  /// @returns the interval's duration at this machine's own speed, in seconds
  double end();

  /// Returns the sum of the intervals' durations at this machine's own speed, in seconds.
  double own() const { return own_; }
  /// Returns the seconds by which all intervals together lasted longer than the constructor's
  /// `factor` requires. The causes are ranks that share a core, and late timers. Returns 0 if
  /// `factor` is at most 1.
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

/// An interval of a phase, in seconds since the step began. Phases of one thread do not overlap.
/// Exchanges may overlap with the other phases and, with parameter servers, with each other.
struct PhaseSpan {
  Phase phase;
  std::size_t bucket;  ///< index of the bucket; 0 for compute
  double begin, end;
};

using Timeline = std::vector<PhaseSpan>;

/// Returns the seconds for which `phase` was under way. Spans that overlap count once.
double time_in(const Timeline& timeline, Phase phase);

}  // namespace thinpipe
