// The time of a schedule: it goes as the monotonic clock does, or stands.
#pragma once

#include <time.h>

#include <mutex>

namespace thinpipe {

/// Seconds since a schedule began. Any thread may ask and set it.
class ScheduleClock {
 public:
  /// What the clock was told last.
  struct Setting {
    bool goes = false;
    double time = 0;      ///< s; what it stands at, or was at when it was let go
    double origin = 0;    ///< s of the monotonic clock at which the time is 0, while it goes
    unsigned number = 0;  ///< of the setting; another one is a later one

    /// The monotonic clock at a schedule time, for a timer; never 0, which would disarm that, nor
    /// before it. While the clock goes.
    timespec moment_of(double schedule_time) const;
  };

  /// s; less than what it was let go from until that moment has come.
  double now() const;
  Setting setting() const;

  /// It is `time` in `in_seconds`, and goes on from there.
  void go_from(double time, double in_seconds = 0);
  /// It is `time` until it is let go.
  void stand_at(double time);

 private:
  mutable std::mutex mutex_;
  Setting setting_;
};

}  // namespace thinpipe
