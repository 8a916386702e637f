// Plays a schedule on the links of a network while others use them.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "netem/file_descriptor.h"
#include "netem/link_spec.h"
#include "netem/network.h"
#include "netem/schedule/keeper.h"
#include "netem/schedule/qdisc.h"
#include "netem/schedule/schedule.h"

namespace thinpipe {

struct PlayerOptions {
  double interval = 0.05;    ///< s between two changes where a schedule changes all the time
  double longest = 1;        ///< s after which the links are looked after even if nothing changes
  bool tell_always = false;  ///< tells the kernel also what it knows: to measure what that costs
};

/// How the changes came about.
struct PlayerReport {
  std::uint64_t changes = 0;  ///< moments at which at least one link was told something new
  double late_median = 0;     ///< s from the moment a change was due to when all links had it
  double late_p95 = 0, late_most = 0;
};

/// A link over a span: what the schedule made of it.
struct LinkMean {
  double up_rate = 0, down_rate = 0;  ///< bit/s
  double delay = 0;                   ///< s, of the way down
  double loss = 0;                    ///< share of frames, of the way down
};

/// Sets all links of a star up for a schedule, and changes them from a thread of its own between
/// start() and stop(). Whatever is wrong meanwhile ends the thread; check() says so.
class SchedulePlayer {
 public:
  /// Sets every host's link, and puts a throttle that can change in place of the shapers of both
  /// directions. Rates change in both; shares are of each direction's own. Delay and loss change
  /// once, on the way down, where links have them. What waits is lost, and counters begin at 0.
  /// @throws InputError when the schedule does not fit the link; RunError of the kernel.
  SchedulePlayer(Network& network, const LinkSpec& link, const ScheduleSpec& schedule,
                 const PlayerOptions& options = {});
  ~SchedulePlayer();
  SchedulePlayer(const SchedulePlayer&) = delete;
  SchedulePlayer& operator=(const SchedulePlayer&) = delete;

  /// Time 0 is so many seconds from now.
  void start(double in_seconds = 0);
  /// No change comes after this; links that held everything let it go at their highest rate.
  void stop();
  /// Schedule time, s; negative before 0. Any thread may ask.
  double now() const;
  /// Rethrows what ended the thread, if anything did.
  void check() const;
  PlayerReport report() const;
  /// Once stopped: what of the links the kernel has otherwise than it was told last, in words.
  std::vector<std::string> alterations() const;
  LinkMean mean(double from, double to) const;
  const Schedule& up() const { return up_; }
  const Schedule& down() const { return down_; }

 private:
  struct Channel {
    std::string interface;
    const Schedule* schedule;
    std::unique_ptr<ScheduleQdisc> qdisc;
    RateKeeper keeper;
    double rate = -1;               ///< as the kernel has it
    std::optional<Impairment> way;  ///< likewise, where a netem waits below the gate
  };

  void add_channel(const std::string& interface, const Schedule& schedule,
                   const Direction& direction, bool impaired);
  /// Tells netem what the schedule says of the span, if that is news.
  bool change_way(Channel& channel, double from, double until);
  void play();
  double next_after(double t) const;
  /// True when something new was told.
  bool change_all(double until);
  bool wait_until(double t) const;  ///< false when stop() woke it

  LinkSpec link_;
  Schedule up_, down_;
  PlayerOptions options_;
  std::unique_ptr<Netlink> switch_;  ///< for the thread alone, once it runs
  std::vector<Channel> channels_;
  double begin_ = 0;  ///< of the monotonic clock
  FileDescriptor wake_;
  std::thread thread_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::vector<double> late_;
  std::uint64_t changes_ = 0;
  std::exception_ptr error_;
};

}  // namespace thinpipe
