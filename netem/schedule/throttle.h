// A throttle whose rate can change under traffic without giving credit away, and stop altogether;
// and which rate it must be given so that what crosses is what the schedule says.
#pragma once

#include <cstdint>
#include <string>

#include "netem/link/link_spec.h"
#include "netem/link/qdisc.h"
#include "netem/schedule/schedule.h"

struct nl_sock;

namespace thinpipe {

/// A qdisc that is open, or shut altogether; and that cuts packets up.
struct GateSettings {
  bool open = true;
  std::uint32_t cut = 0;    ///< bytes: larger GSO packets are cut into frames as they come
  std::uint32_t limit = 0;  ///< bytes that may wait
};

/// A TBF. Open, its rate is no throttle. Shut, it takes every packet for larger than its bucket
/// (`mpu`), so that none ever leaves; it looks again every millisecond, so late does it open.
/// (`mpu` has had this effect since Linux 5.17.)
QdiscRequest gate_request(const GateSettings& settings);

/// A queue's own counters.
struct QueueReading {
  std::uint64_t bytes = 0;  ///< that have left it, as its link charges them
  std::uint32_t packets_waiting = 0;
};

struct ScheduleQdiscSettings {
  double highest_rate = 0;        ///< bit/s, the highest that will be set
  std::uint32_t burst = 0;        ///< bytes of the bucket at every rate; 0: default_burst() of each
  std::uint32_t queue = 0;        ///< bytes that may wait
  std::uint32_t overhead = 0;     ///< bytes that each packet is charged beyond its length
  int frame_bytes = kFrameBytes;  ///< of a full frame
};

/// The root qdisc of one interface of the namespace it was made in:
///
///   htb 1: -> class 1:1 with the rate -> tbf 2: the gate, with the queue
///
/// Why not a TBF alone, as links without a schedule have: each change of a TBF fills its bucket, so
/// that 20 changes a second at 100 Mbit/s with a bucket of 128 kB let 21 Mbit/s through for
/// nothing. A change of an HTB class leaves its tokens alone.
///
/// The gate has no rate to speak of while it is open; it cuts GSO packets that are larger than the
/// bucket, as TBF does, so that HTB, which sends a whole packet as soon as its credit is not
/// negative, does not send 64 kB at once. Closed, nothing at all leaves: what waits keeps waiting,
/// what comes is queued while there is room. HTB cannot do that: any rate above 0 lets a packet
/// through, whose debt of up to 60 s it remembers afterwards.
class ScheduleQdisc {
 public:
  /// Replaces what the interface has; what waits there is lost, so do it between transfers.
  /// Settings are read back.
  /// @throws RunError when the kernel does not take it (needs sch_htb and sch_tbf, Linux 5.17 or
  /// later)
  ScheduleQdisc(std::string interface, const ScheduleQdiscSettings& settings);
  ~ScheduleQdisc();
  ScheduleQdisc(const ScheduleQdisc&) = delete;
  ScheduleQdisc& operator=(const ScheduleQdisc&) = delete;

  /// From now on so many bit/s; 0 holds everything.
  void set_rate(double rate);
  /// Asks the kernel whether it has what set_rate() told it: apart from that, because links are
  /// told one after the other and the last must not wait for it.
  /// @throws RunError naming interface, setting, what was asked and what the kernel has.
  void check();
  QueueReading read();
  /// Drift from what the kernel was told last, in words; "" when there is none.
  std::string alteration();
  /// The most bytes that leave in one piece: what HTB may send before it is paid for.
  std::uint32_t largest_piece() const { return cut_ + settings_.overhead; }

 private:
  void set_up();
  void set_class(double rate);
  void set_gate(bool open);

  std::string interface_;
  ScheduleQdiscSettings settings_;
  nl_sock* socket_;
  int index_ = 0;
  std::uint32_t cut_;  ///< bytes to which the gate cuts packets
  double rate_ = 0;    ///< bit/s of the class
  bool open_ = true;
  std::uint32_t packets_ = 0;  ///< at the last reading, as the kernel counts: modulo 2^32
  std::uint64_t charged_ = 0;  ///< overhead of all packets so far
};

/// Says which rate the throttle must be given.
///
/// HTB sends a piece as soon as its credit is not negative and then waits until the piece is paid
/// for, at the rate of the moment at which it left. A change of rate does not change that wait: a
/// frame sent at 62 kbit/s blocks the link for 194 ms, although it may do 1 Mbit/s 10 ms later. So
/// rising rates lose and falling ones gain, up to a piece times the ratio of the rates; and a
/// change that comes late leaves the old rate in force.
///
/// While something waits in the queue the keeper knows what crossed (the counter) and what should
/// have (the integral), and how long the last piece blocks the link, and it sets the next rate so
/// that both meet at the end of its span. A link on which nothing waits owes nothing.
class RateKeeper {
 public:
  /// @param piece  bytes that leave at once at most
  RateKeeper(const Schedule& schedule, double piece) : schedule_(schedule), piece_(8 * piece) {}

  /// The rate in bit/s from `now` until `until` (schedule time, s), 0 for none. `reading` is the
  /// queue's at `now`. The same as before when the difference would not be seen.
  double plan(double now, double until, const QueueReading& reading);
  /// The next plan is the first: time was held, or set.
  void begin_anew();

 private:
  void settle(double now, const QueueReading& reading);

  const Schedule& schedule_;
  double piece_;  ///< bits
  bool begun_ = false;
  double last_ = 0;  ///< when the rate was set
  double rate_ = 0;  ///< to this
  QueueReading counted_;
  double owed_ = 0;       ///< bits that should have crossed and did not; negative: too many did
  double blocked_ = 0;    ///< s until the last piece is paid for
  double postponed_ = 0;  ///< bits that the last span could not make up for
};

}  // namespace thinpipe
