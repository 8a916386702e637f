// Plays a schedule on the links of a network while others use them.
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

/// Seconds since a schedule began: time goes as the monotonic clock does, or stands. Any thread may
/// ask and set it.
class ScheduleClock {
 public:
  /// The clock's latest setting.
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
  double up_rate = 0, down_rate = 0;  ///< bit/s; 0 also of a link that is not throttled
  double delay = 0;                   ///< s, of the way down
  double loss = 0;                    ///< share of frames, of the way down
};

/// Sets all links of a network up for a schedule, and changes them from a thread of its own between
/// start() and stop(). Whatever is wrong meanwhile ends the thread; check() says so.
///
/// Time goes by the monotonic clock, but can be held and set: for a program whose own time is
/// another.
class SchedulePlayer {
 public:
  /// Sets every link as `planned` has it (see Network::plan) and puts a throttle that can change in
  /// place of the shapers of those that the schedule changes, in both directions. Rates change in
  /// both; shares are of each direction's own. Delay and loss change where links have them: once,
  /// on the downlink of a host's link; both ways of a trunk. Waiting frames are lost, and counters
  /// begin at 0.
  /// @param network  outlives this
  /// @throws InputError when the schedule does not fit the links; RunError of the kernel.
  SchedulePlayer(Network& network, Topology planned, const ScheduleSpec& schedule,
                 const PlayerOptions& options = {});
  ~SchedulePlayer();
  SchedulePlayer(const SchedulePlayer&) = delete;
  SchedulePlayer& operator=(const SchedulePlayer&) = delete;

  /// The clock is `from` in so many seconds, and goes on from there: the schedule's begin, or
  /// somewhere in it. A clock that stands is let go the same way.
  void start(double in_seconds = 0, double from = 0);
  /// The clock is `at` until start() lets it go; links are what the schedule has then.
  void stand(double at);
  /// No change comes after this; links that held everything let it go at their highest rate.
  void stop();
  /// Schedule time, s; less than start()'s `from` before that. Any thread may ask.
  double now() const { return clock_.now(); }
  /// Rethrows what ended the thread, if anything did.
  void check() const;
  PlayerReport report() const;
  /// Once stopped: what of the links the kernel has otherwise than it was told last, each with the
  /// link's name, in words.
  std::vector<std::string> alterations() const;
  /// Means of any link of the topology, also one that does not change.
  LinkMean mean(int link, double from, double to) const;
  /// Bits that can cross it in one direction meanwhile; infinite where nothing throttles it.
  double bits(int link, bool up, double from, double to) const;
  /// Those that change.
  const std::vector<ScheduledLink>& links() const { return links_; }
  /// The network as it would be without the schedule.
  const Topology& planned() const { return planned_; }

 private:
  /// A netem whose delay or loss changes, or that waits below a gate.
  struct Way {
    Netlink* netlink;  ///< of the namespace it is in
    std::string interface;
    TrafficHandle at;
    LinkSpec own;  ///< of its link
    bool up;
    std::optional<std::uint64_t> seed;
    std::optional<Impairment> told;  ///< as the kernel has it
  };
  struct Channel {
    int link;
    std::unique_ptr<ScheduleQdisc> qdisc;
    const Schedule* schedule;
    RateKeeper keeper;
    double rate = -1;  ///< as the kernel has it
    std::optional<Way> way;
    bool changed = false;  ///< and not read back yet
  };

  void add_link(const Network& network, const ScheduledLink& one);
  void add_channel(const Host& at, const std::string& interface, const ScheduledLink& one, bool up);
  Netlink& netlink_in(const Host& at);
  /// Tells netem what the schedule says of the span, if that is news.
  bool change_way(Channel& channel, double from, double until);
  const ScheduledLink* find(int link) const;
  void play();
  double next_after(double t) const;
  /// True when something new was told.
  bool change_all(double until);
  void check_changed();
  /// Takes up what the clock was told: what links owe counts from there on.
  void begin_anew(const ScheduleClock::Setting& setting);
  void begin_thread();
  void wake();
  /// False when it was woken before; for ever while the clock stands.
  bool wait_until(double t, const ScheduleClock::Setting& setting) const;

  const Network& network_;
  Topology planned_;
  std::vector<ScheduledLink> links_;
  PlayerOptions options_;
  std::map<const Host*, std::unique_ptr<Netlink>> netlinks_;  ///< for the thread alone
  std::vector<Channel> channels_;
  ScheduleClock clock_;
  std::atomic<bool> stopping_ = false;
  FileDescriptor wake_;
  std::thread thread_;
  mutable std::mutex mutex_;  ///< guards what follows
  std::vector<double> late_;
  std::uint64_t changes_ = 0;
  std::exception_ptr error_;
};

}  // namespace thinpipe
