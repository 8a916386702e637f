// A throttle whose rate can change under traffic without giving credit away, and stop altogether.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "netem/netlink.h"

struct nl_msg;
struct nl_sock;

namespace thinpipe {

/// What a queue says of itself.
struct QueueReading {
  std::uint64_t bytes = 0;  ///< that have left it, in frames as qdiscs count
  std::uint32_t packets_waiting = 0;
};

/// The root qdisc of one interface of the namespace it was made in:
///
///   htb 1: -> class 1:1 with the rate -> tbf 2: the gate, with the queue
///
/// Why not a TBF alone, as links without a schedule have: each change of a TBF fills its bucket, so
/// that 20 changes a second at 100 Mbit/s with a bucket of 128 kB let 21 Mbit/s through for
/// nothing. A change of an HTB class leaves its tokens alone.
///
/// The gate has no rate to speak of while it is open; it cuts GSO packets to the bucket's size, as
/// TBF does, so that HTB, which sends a whole packet as soon as its credit is not negative, does
/// not send 64 kB at once. Closed, nothing at all leaves: what waits keeps waiting, what comes is
/// queued while there is room. HTB cannot do that: any rate above 0 lets a packet through, whose
/// debt of up to 60 s it remembers afterwards.
class ScheduleQdisc {
 public:
  /// Replaces what the interface has; what waits there is lost, so do it between transfers.
  /// @param highest_rate  the highest rate that will be set, in bit/s
  /// @param burst         bytes of the bucket at every rate; 0: default_burst() of each rate
  /// @param queue         bytes that may wait
  /// @throws RunError when the kernel does not take it (needs sch_htb and sch_tbf, Linux 5.17 or
  /// later)
  ScheduleQdisc(std::string interface, double highest_rate, std::uint32_t burst,
                std::uint32_t queue);
  ~ScheduleQdisc();
  ScheduleQdisc(const ScheduleQdisc&) = delete;
  ScheduleQdisc& operator=(const ScheduleQdisc&) = delete;

  /// From now on so many bit/s; 0 holds everything.
  void set_rate(double rate);
  QueueReading read();
  /// What the kernel has otherwise than it was told last, in words; "" when nothing.
  std::string alteration();
  /// The most bytes that leave in one piece: what HTB may send before it is paid for.
  std::uint32_t largest_piece() const { return cut_; }

 private:
  void send(nl_msg* message, const std::string& attempt);
  void set_root();
  void set_class(double rate, bool create);
  void set_gate(bool open, bool create);

  std::string interface_;
  nl_sock* socket_;
  Netlink netlink_;  ///< to read back
  int index_ = 0;
  std::uint32_t burst_;
  std::uint32_t cut_;  ///< bytes to which the gate cuts packets
  std::uint32_t queue_;
  bool open_ = true;
  double rate_ = 0;  ///< bit/s, of the class
};

}  // namespace thinpipe
