// A throttle whose rate can change under traffic without refilling its token bucket, and that can
// stop completely. Also computes the rates to set so that the traffic follows the schedule.
#pragma once

#include <cstdint>
#include <string>

#include "netem/link/link_spec.h"
#include "netem/link/netlink.h"
#include "netem/link/qdisc.h"
#include "netem/schedule/schedule.h"

namespace thinpipe {

/// A gate: a qdisc that passes packets or blocks all of them, and that segments GSO packets.
struct GateSettings {
  bool open = true;
  std::uint32_t cut = 0;    ///< bytes; larger GSO packets are segmented on enqueue
  std::uint32_t limit = 0;  ///< queue limit in bytes
};

/// Returns the request for a gate, which is a TBF. While the gate is open, its rate does not
/// throttle. While it is shut, its `mpu` makes every packet count as larger than the bucket, so
/// that no packet leaves. A shut gate retries every millisecond, so it opens up to 1 ms late.
/// (`mpu` has this effect since Linux 5.17.)
QdiscRequest gate_request(const GateSettings& settings);

/// Counters of a queue.
struct QueueReading {
  std::uint64_t bytes = 0;  ///< dequeued bytes, as the link charges them
  std::uint32_t packets_waiting = 0;
};

struct ScheduleQdiscSettings {
  double highest_rate = 0;        ///< bit/s, the highest that will be set
  std::uint32_t burst = 0;        ///< token-bucket depth in bytes; 0: default_burst() of each rate
  std::uint32_t queue = 0;        ///< queue limit in bytes
  std::uint32_t overhead = 0;     ///< bytes charged for each packet beyond its length
  int frame_bytes = kFrameBytes;  ///< bytes of a full frame
};

/// The root qdisc of an interface in the network namespace that was current at construction:
///
///   htb 1: -> class 1:1 with the rate -> tbf 2: the gate, with the queue
///
/// A TBF alone, as on links without a schedule, is not enough, because each change of a TBF fills
/// its bucket. With a bucket of 128 kB at 100 Mbit/s, 20 changes per second would pass 21 Mbit/s
/// unthrottled. A change of an HTB class keeps the class's tokens as they are.
///
/// The open gate does not throttle. It segments GSO packets larger than the bucket, as every TBF
/// does, because HTB would send a whole packet of 64 kB as soon as its tokens are not negative. A
/// shut gate passes no packet: the backlog stays, and arriving packets queue up to the limit. HTB
/// cannot block all packets: at any rate above 0 it sends one, and then stays in debt for up to
/// 60 s.
class ScheduleQdisc {
 public:
  /// Replaces the interface's qdiscs and reads the settings back. Queued packets are lost, so
  /// create it between transfers.
  /// @throws RunError when the kernel refuses (needs sch_htb and sch_tbf, Linux 5.17 or later)
  ScheduleQdisc(std::string interface, const ScheduleQdiscSettings& settings);

  /// Sets the rate in bit/s; 0 blocks all packets.
  void set_rate(double rate);
  /// Reads the settings of set_rate() back and checks them. set_rate() does not do this itself:
  /// when several links change one after the other, it would delay the last link's change.
  /// @throws RunError naming interface, setting, the requested and the kernel's value.
  void check();
  QueueReading read();
  /// Returns the drift from the last settings, in words; "" without drift.
  std::string drift();
  /// Returns the most bytes that HTB may send at once before their tokens have accumulated.
  std::uint32_t largest_packet() const { return cut_ + settings_.overhead; }

 private:
  void set_class(double rate);
  void set_gate(bool open);

  std::string interface_;
  ScheduleQdiscSettings settings_;
  NetlinkSocket socket_;
  int index_ = 0;
  std::uint32_t cut_;  ///< bytes above which the gate segments packets
  double rate_ = 0;    ///< bit/s of the class
  bool open_ = true;
  std::uint32_t packets_ = 0;  ///< at the last reading, modulo 2^32 as the kernel counts
  std::uint64_t charged_ = 0;  ///< bytes of overhead of all packets so far
};

/// Computes the rates to set so that the traffic follows the integral of the schedule.
///
/// HTB sends a packet as soon as its tokens are not negative, and then waits until tokens for the
/// packet have accumulated, at the rate at which the packet left. A rate change does not shorten
/// this wait: a frame sent at 62 kbit/s blocks the link for 194 ms, even if the rate rises to
/// 1 Mbit/s 10 ms later. So rising rates lose traffic and falling rates gain traffic, up to a
/// packet times the ratio of the rates. A late change, too, keeps the old rate in force.
///
/// While the queue has a backlog, the keeper compares the traffic (the counter) with the schedule
/// (the integral), and derives how long the last packet still blocks the link. It sets the next
/// rate so that traffic and schedule agree at the end of the interval. A link without a backlog
/// starts again from zero.
class RateKeeper {
 public:
  /// @param packet  the most bytes that leave at once
  RateKeeper(const Schedule& schedule, double packet) : schedule_(schedule), packet_(8 * packet) {}

  /// Returns the rate in bit/s for the interval from `now` to `until` (schedule time, s); 0 to
  /// block. Returns the previous rate if the difference is negligible.
  /// @param reading  the queue's counters at `now`
  double plan(double now, double until, const QueueReading& reading);
  /// Forgets the past, after the schedule's clock was stopped or set.
  void begin_anew();

 private:
  void settle(double now, const QueueReading& reading);

  const Schedule& schedule_;
  double packet_;  ///< bits
  bool begun_ = false;
  double last_ = 0;  ///< schedule time of the last plan
  double rate_ = 0;  ///< of the last plan
  QueueReading counted_;
  double owed_ = 0;       ///< bits scheduled but not sent; negative: sent in excess
  double blocked_ = 0;    ///< s until tokens for the last packet have accumulated
  double postponed_ = 0;  ///< bits that the last interval could not make up for
};

}  // namespace thinpipe
