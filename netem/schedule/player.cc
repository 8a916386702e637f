#include "netem/schedule/player.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <time.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/distribution.h"
#include "netem/qdisc_netem.h"
#include "netem/shaping.h"

namespace thinpipe {

namespace {

constexpr double kOneMoment = 2e-4;          // s; closer moments are one
constexpr std::size_t kMostTimes = 100'000;  // of lateness kept: enough for every quantile

double monotonic() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

timespec to_timespec(double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  return {whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
}

// As network.cc names the two ends of a host's throttled link.
constexpr const char* kHostInterface = "thin0";
std::string port_name(int host) { return fmt::format("data{}", host); }

constexpr TrafficHandle kWay = {0x20001, 0x30000};  // netem, below the gate

// Where a netem is, frames come one by one: enough for a link to have one.
constexpr double kLeastDelay = 1e-9;

std::chrono::nanoseconds to_nanoseconds(double seconds) {
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

LinkState own_state(const Direction& direction, const LinkSpec& link) {
  return {direction.rate, std::chrono::duration<double>(link.down.way.delay).count(),
          link.down.way.loss.percent / 100};
}

void check_fits(const LinkSpec& link, const ScheduleSpec& schedule) {
  const auto refuse = [&](const std::string& what) {
    throw InputError(fmt::format("schedule '{}' on link '{}': {}", schedule.to_string(),
                                 link.to_string(), what));
  };
  if (link.place == Place::kSwitch) refuse("place=switch cannot be scheduled; leave it out");
  if (link.up.overhead != 0 || link.down.overhead != 0)
    refuse("overhead= cannot be scheduled; leave it out");
  if (link.up.shaper == Shaper::kNetem || link.down.shaper == Shaper::kNetem)
    refuse("shaper=netem cannot be scheduled; leave it out");
  if (schedule.changes(Quantity::kLoss) && link.down.way.bursts)
    refuse("a loss in bursts cannot be scheduled");
}

// Signals are the main thread's: it waits in calls that they interrupt.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

SchedulePlayer::SchedulePlayer(Network& network, const LinkSpec& link, const ScheduleSpec& schedule,
                               const PlayerOptions& options)
    : link_(link),
      up_(schedule.on(own_state(link.up, link))),
      down_(schedule.on(own_state(link.down, link))),
      options_(options),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_.valid()) throw SystemError("eventfd");
  check_fits(link, schedule);
  if (network.topology().text != "star")
    throw InputError(fmt::format("schedules are played on a star only, not on topology '{}'",
                                 network.topology().text));
  network.switch_at(0).inside([&] { switch_ = std::make_unique<Netlink>(); });
  LinkSpec longest = link;
  if (schedule.changes(Quantity::kDelay) || schedule.changes(Quantity::kLoss))
    longest.down.way.delay = to_nanoseconds(std::max(down_.most_delay(), kLeastDelay));
  network.set_links(longest);  // frame sizes, TCP's buffers, and what is not scheduled
  const bool impaired = !link.down.way.none() || schedule.changes(Quantity::kDelay) ||
                        schedule.changes(Quantity::kLoss);
  for (int i = 0; i < network.size(); ++i) {
    network.host(i).inside([&] { add_channel(kHostInterface, up_, link.up, false); });
    network.switch_at(0).inside([&] { add_channel(port_name(i), down_, link.down, impaired); });
  }
}

void SchedulePlayer::add_channel(const std::string& interface, const Schedule& schedule,
                                 const Direction& direction, bool impaired) {
  LinkSpec highest = link_;
  highest.up.rate = highest.down.rate = schedule.most_rate();
  const std::uint32_t queue = highest.with_defaults().down.queue;
  auto qdisc =
      std::make_unique<ScheduleQdisc>(interface, schedule.most_rate(), direction.burst, queue);
  const double piece = qdisc->largest_piece();
  channels_.push_back(
      {interface, &schedule, std::move(qdisc), RateKeeper(schedule, piece), -1, std::nullopt});
  Channel& channel = channels_.back();
  channel.qdisc->set_rate(channel.rate = schedule.at(0).rate);
  if (!impaired) return;
  channel.way = link_.down.way;
  channel.way->gap = ~0U;  // unlike anything: it is told
  change_way(channel, 0, 0);
}

bool SchedulePlayer::change_way(Channel& channel, double from, double until) {
  if (!channel.way) return false;
  const LinkState state = channel.schedule->mean(from, until);
  Direction direction = link_.with_defaults().down;
  direction.way.delay = to_nanoseconds(state.delay);
  if (!direction.way.bursts) direction.way.loss.percent = state.loss * 100;
  if (direction.way == *channel.way && !options_.tell_always) return false;
  channel.way = direction.way;
  // Enough for the longest delay at the highest rate, whatever is in force now.
  direction.rate = channel.schedule->most_rate();
  direction.way.delay = to_nanoseconds(channel.schedule->most_delay());
  NetemSettings settings;
  settings.limit = netem_limit(direction, link_.frame_bytes());
  settings.way = *channel.way;
  if (settings.way.jitter.count() > 0) settings.table = table_of(settings.way);
  settings.seed = link_.seed;
  switch_->set_qdisc(channel.interface, kWay, netem_request(settings));
  return true;
}

LinkMean SchedulePlayer::mean(double from, double to) const {
  const LinkState up = up_.mean(from, to), down = down_.mean(from, to);
  return {up.rate, down.rate, down.delay, down.loss};
}

SchedulePlayer::~SchedulePlayer() {
  try {
    stop();
  } catch (const std::exception&) {
    // The links go with the network.
  }
}

double SchedulePlayer::now() const { return monotonic() - begin_; }

void SchedulePlayer::start(double in_seconds) {
  begin_ = monotonic() + in_seconds;
  const SignalsBlocked blocked;
  thread_ = std::thread([this] {
    prctl(PR_SET_TIMERSLACK, 1UL);  // else every wait may end 50 us late
    try {
      play();
    } catch (...) {
      const std::lock_guard lock(mutex_);
      error_ = std::current_exception();
    }
  });
}

void SchedulePlayer::stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  if (write(wake_.get(), &one, sizeof(one)) != sizeof(one)) throw SystemError("wake the player");
  thread_.join();
  std::uint64_t count = 0;
  if (read(wake_.get(), &count, sizeof(count)) != sizeof(count)) throw SystemError("eventfd");
  for (Channel& channel : channels_)
    if (channel.rate <= 0) channel.qdisc->set_rate(channel.rate = channel.schedule->most_rate());
}

void SchedulePlayer::check() const {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

double SchedulePlayer::next_after(double t) const {
  double next = t;
  do
    next = std::min(up_.next_change(next, options_.interval),
                    down_.next_change(next, options_.interval));
  while (next < t + kOneMoment);
  return std::min(next, t + options_.longest);
}

bool SchedulePlayer::change_all(double until) {
  bool told = false;
  for (Channel& channel : channels_) {
    const QueueReading reading = channel.qdisc->read();
    const double from = now();
    const double rate = channel.keeper.plan(from, std::max(until, from + kOneMoment), reading);
    told = change_way(channel, from, std::max(until, from + kOneMoment)) || told;
    if (rate == channel.rate && !options_.tell_always) continue;
    channel.qdisc->set_rate(channel.rate = rate);
    told = true;
  }
  return told;
}

bool SchedulePlayer::wait_until(double t) const {
  const FileDescriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  itimerspec when = {};
  when.it_value = to_timespec(begin_ + t);
  if (!timer.valid() || timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &when, nullptr) != 0)
    throw SystemError("set a timer");
  pollfd waiting[] = {{timer.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  while (poll(waiting, 2, -1) < 0)
    if (errno != EINTR) throw SystemError("wait for a timer");
  return (waiting[1].revents & POLLIN) == 0;
}

void SchedulePlayer::play() {
  for (double due = 0; wait_until(due);) {
    // A thread that was kept from running for long does not make up for the moments it missed: the
    // keepers know what should have crossed meanwhile.
    const double next = next_after(std::max(due, now()));
    const bool told = change_all(next);
    const double late = now() - due;
    const std::lock_guard lock(mutex_);
    if (told) {
      ++changes_;
      if (late_.size() < kMostTimes) late_.push_back(late);
    }
    due = next;
  }
}

std::vector<std::string> SchedulePlayer::alterations() const {
  std::vector<std::string> found;
  for (std::size_t i = 0; i < channels_.size(); ++i)
    if (const std::string one = channels_[i].qdisc->alteration(); !one.empty())
      found.push_back(fmt::format("link host{}: {}", i / 2, one));  // its two ways in turn
  return found;
}

PlayerReport SchedulePlayer::report() const {
  PlayerReport report;
  std::vector<double> late;
  {
    const std::lock_guard lock(mutex_);
    report.changes = changes_;
    late = late_;
  }
  if (late.empty()) return report;
  std::sort(late.begin(), late.end());
  report.late_median = late[late.size() / 2];
  report.late_p95 = late[late.size() * 95 / 100];
  report.late_most = late.back();
  return report;
}

}  // namespace thinpipe
