// Plays a schedule on the links of a network while programs use them.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "netem/file_descriptor.h"
#include "netem/network.h"
#include "netem/schedule/links.h"
#include "netem/schedule/schedule.h"
#include "netem/schedule/throttle.h"

namespace thinpipe {

/// The time since a schedule's start. The clock runs at the pace of the monotonic clock, or is
/// stopped. Thread-safe.
class ScheduleClock {
 public:
  /// The clock's latest setting.
  struct Setting {
    bool goes = false;
    double time = 0;      ///< s; the time at which it is stopped, or from which it was started
    double origin = 0;    ///< monotonic clock in s at schedule time 0, while running
    unsigned number = 0;  ///< of the setting; differs after every change

    /// Converts a schedule time to a time of the monotonic clock, for a timer. The result is never
    /// negative and never 0, which would disarm the timer. Call it only while the schedule's clock
    /// runs.
    timespec moment_of(double schedule_time) const;
  };

  /// Returns the time in s. It is below go_from()'s `time` until that moment.
  double now() const;
  Setting setting() const;

  /// Starts the clock, which reaches `time` in `in_seconds` s.
  void go_from(double time, double in_seconds = 0);
  /// Stops the clock at `time`.
  void stand_at(double time);

 private:
  mutable std::mutex mutex_;
  Setting setting_;
};

struct PlayerOptions {
  double interval = 0.05;    ///< s between two changes of a continuously changing schedule
  double longest = 1;        ///< s after which links are checked even if nothing changes
  bool tell_always = false;  ///< also sends unchanged settings, to measure the cost of a change
};

/// Statistics of the changes.
struct PlayerReport {
  std::uint64_t changes = 0;  ///< moments at which the settings of at least one link changed
  double late_median = 0;     ///< s from the moment a change was due until all links had it
  double late_p95 = 0, late_most = 0;
};

/// Means of a link over an interval.
struct LinkMean {
  double up_rate = 0, down_rate = 0;  ///< bit/s; 0 also for an unthrottled link
  double delay = 0;                   ///< of the downlink, s
  double loss = 0;                    ///< of the downlink, fraction of frames
};

/// Prepares all links of a network for a schedule, and changes the links from its own thread
/// between start() and stop(). An error ends the thread; check() rethrows it.
///
/// The schedule's time follows the monotonic clock. It can also be stopped and set, for programs
/// with a clock of their own.
class SchedulePlayer {
 public:
  /// Sets every link of `planned` (see Network::plan). On links that the schedule changes, replaces
  /// the shapers of both directions by a ScheduleQdisc. Rates change in both directions, and
  /// percentages are relative to each direction's own rate. Delay and loss change on the downlink
  /// of a host's link and in both directions of a trunk. Queued frames are lost, and counters start
  /// at 0.
  /// @param network  outlives this
  /// @throws InputError when the schedule does not fit the links; RunError of the kernel.
  SchedulePlayer(Network& network, Topology planned, const ScheduleSpec& schedule,
                 const PlayerOptions& options = {});
  ~SchedulePlayer();
  SchedulePlayer(const SchedulePlayer&) = delete;
  SchedulePlayer& operator=(const SchedulePlayer&) = delete;

  /// Starts the clock, which reaches the schedule time `from` in `in_seconds` s. Also restarts a
  /// stopped clock.
  void start(double in_seconds = 0, double from = 0);
  /// Stops the clock at `at` until start(). Links have the schedule's state at that time.
  void stand(double at);
  /// Ends the changes. Links at rate 0 get their highest rate, so that their backlog leaves.
  void stop();
  /// Returns the schedule time in s, which is below start()'s `from` until that moment.
  /// Thread-safe.
  double now() const { return clock_.now(); }
  /// Rethrows the error that ended the thread, if any.
  void check() const;
  PlayerReport report() const;
  /// Returns the drift of the links from their last settings, each with the link's name, in words.
  /// Call it after stop().
  std::vector<std::string> drift() const;
  /// Returns the means of any link of the topology, also one that does not change: of one
  /// direction, or of both.
  LinkState mean(int link, bool up, double from, double to) const;
  LinkMean mean(int link, double from, double to) const;
  /// Returns the bits that can cross a link in one direction in [from, to]; infinite without a
  /// rate.
  double bits(int link, bool up, double from, double to) const;
  /// Returns the links that change.
  const std::vector<ScheduledLink>& links() const { return links_; }
  /// Returns the network as it would be without the schedule.
  const Topology& planned() const { return planned_; }

 private:
  /// A netem whose delay or loss changes, or that is the gate's child.
  struct Netem {
    Netlink* netlink;  ///< of its network namespace
    std::string interface;
    TrafficHandle at;
    std::optional<std::uint64_t> seed;
    std::vector<std::int16_t> table = {};    ///< of delays; empty without jitter
    std::uint64_t settings_sent = 0;         ///< number of times that netem was changed
    std::optional<Impairment> applied = {};  ///< last settings
    QdiscRequest request = {};               ///< of the last settings
  };
  /// One direction of a link that changes.
  struct Channel {
    const ScheduledLink& link;  ///< in links_
    bool up;
    std::unique_ptr<ScheduleQdisc> qdisc;
    RateKeeper keeper;
    double rate = -1;  ///< last setting
    std::optional<Netem> netem;
    bool changed = false;  ///< and not read back yet
    const Schedule& schedule() const { return up ? link.up : link.down; }
    Direction own() const { return up ? link.own.up : link.own.down; }  ///< without the schedule
  };

  void add_link(const Network& network, const ScheduledLink& one);
  void add_channel(const Host& at, const std::string& interface, const ScheduledLink& one, bool up);
  Netlink& netlink_in(const Host& at);
  /// Sets netem to the schedule's means over the interval. Returns false if nothing changed.
  bool change_netem(Channel& channel, double from, double until);
  const ScheduledLink* find(int link) const;
  void play();
  double next_after(double t) const;
  /// Sets all links up to `until`. Returns true if a setting changed.
  bool change_all(double until);
  void check_changed();
  /// Applies a new setting of the clock and resets the rate keepers.
  void begin_anew(const ScheduleClock::Setting& setting);
  void begin_thread();
  void wake();
  /// Waits until schedule time `t` or until wake() is called. While the clock is stopped, only
  /// wake() ends the wait. Returns false if wake() ended the wait.
  bool wait_until(double t, const ScheduleClock::Setting& setting) const;

  const Network& network_;
  Topology planned_;
  std::vector<ScheduledLink> links_;
  PlayerOptions options_;
  std::map<const Host*, std::unique_ptr<Netlink>> netlinks_;  ///< used by the thread only
  std::vector<Channel> channels_;
  ScheduleClock clock_;
  std::atomic<bool> stopping_ = false;
  FileDescriptor wake_;
  std::thread thread_;
  mutable std::mutex mutex_;  ///< guards the following members
  std::vector<double> late_;
  std::uint64_t changes_ = 0;
  std::exception_ptr error_;
};

}  // namespace thinpipe
