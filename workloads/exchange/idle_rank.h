// What a rank does that has nothing to do: asks again at once, or sleeps for how long.
#pragma once

namespace thinpipe {

/// It sleeps, at first shortly, so that small messages lose little, then longer, so that ranks that
/// wait leave the processors to those that work: a segment of 32 kB takes 262 us at 1 Gbit/s. Ranks
/// that ask again and again instead starve the emulated links where ranks outnumber cores.
///
/// Where there is a core for every rank, it asks again for a moment before it sleeps, as long as
/// most waits end within that moment: where segments come faster than a sleep ends, not where a
/// link takes its time. Whether waits have become short is found out in every sixteenth.
class IdleRank {
 public:
  explicit IdleRank(bool has_core) : has_core_(has_core) {}

  /// Nothing could be done. @param now  in seconds
  /// @returns nanoseconds to sleep before asking again
  long pause(double now);
  /// Something was done.
  void progressed();

 private:
  static constexpr int kAllShort = 1024;

  bool has_core_;
  bool waits_ = false, asks_ = false;  ///< since the last progress; and has not slept yet
  double waits_since_ = 0;
  int short_waits_ = kAllShort;  ///< share of the last ones in which it asked again
  unsigned slept_ = 0;           ///< waits in which it did not
  long sleep_ = 0;
};

}  // namespace thinpipe
