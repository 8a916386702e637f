#include "netem/schedule/player.h"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/splitmix64.h"
#include "base/statistics.h"
#include "netem/link/qdisc.h"
#include "netem/link/shaping.h"
#include "netem/sandbox.h"
#include "netem/topology/flows.h"

namespace thinpipe {
namespace {

// Raises the calling thread's priority above computing threads, if permitted. Until a late change
// is made, the link has a wrong rate. Does not throw if not permitted.
void take_precedence() {
  prctl(PR_SET_TIMERSLACK, 1UL);  // otherwise every wait may end 50 us late
  const sched_param parameters = {.sched_priority = 1};
  constexpr int kNicest = -20;
  if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &parameters) != 0)
    setpriority(PRIO_PROCESS, 0, kNicest);  // on Linux of this thread only; may be refused too
}

constexpr double kOneMoment = 2e-4;         // s; closer moments count as one
constexpr std::size_t kMaxTimes = 100'000;  // most stored delays, enough for every quantile

constexpr TrafficHandle kBelowGate = {0x20001, 0x30000};
constexpr TrafficHandle kRootOfIfb = {0xffffffff, 0x10000};

// s; a delay above 0 makes the link use a netem, and therefore single frames.
constexpr double kMinDelay = 1e-9;

std::chrono::nanoseconds to_nanoseconds(double seconds) {
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

// Returns the link with its highest rates and longest delays, which determine frame sizes, TCP's
// buffers and queues.
LinkSpec highest(const ScheduledLink& one) {
  LinkSpec link = one.own;
  link.up.rate = one.up.most_rate();
  link.down.rate = one.down.most_rate();
  if (!one.changes_impairment) return link;
  link.down.impairment.delay = to_nanoseconds(std::max(one.down.most_delay(), kMinDelay));
  if (one.is_trunk)
    link.up.impairment.delay = to_nanoseconds(std::max(one.up.most_delay(), kMinDelay));
  return link;
}

}  // namespace

timespec ScheduleClock::Setting::moment_of(double schedule_time) const {
  constexpr double kEarliest = 1e-9;
  const double seconds = std::max(kEarliest, origin + schedule_time);
  const auto whole = static_cast<time_t>(seconds);
  return {whole, std::max(whole == 0 ? 1L : 0L,
                          static_cast<long>((seconds - static_cast<double>(whole)) * 1e9))};
}

double ScheduleClock::now() const {
  const std::lock_guard lock(mutex_);
  return setting_.goes ? now_seconds() - setting_.origin : setting_.time;
}

ScheduleClock::Setting ScheduleClock::setting() const {
  const std::lock_guard lock(mutex_);
  return setting_;
}

void ScheduleClock::go_from(double time, double in_seconds) {
  const std::lock_guard lock(mutex_);
  setting_ = {true, time, now_seconds() + in_seconds - time, setting_.number + 1};
}

void ScheduleClock::stand_at(double time) {
  const std::lock_guard lock(mutex_);
  setting_ = {false, time, 0, setting_.number + 1};
}

SchedulePlayer::SchedulePlayer(Network& network, Topology planned, const ScheduleSpec& schedule,
                               const PlayerOptions& options)
    : network_(network),
      planned_(std::move(planned)),
      links_(scheduled_links(planned_, schedule)),
      options_(options),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_.valid()) throw SystemError("eventfd");
  Topology set = planned_;
  for (const ScheduledLink& one : links_) set.link(one.link) = highest(one);
  network.set_topology(std::move(set));
  for (const ScheduledLink& one : links_) add_link(network, one);
}

void SchedulePlayer::add_link(const Network& network, const ScheduledLink& one) {
  const ShapedLink& shaped = network.shaped(one.link);
  const Host &lower = network.lower(one.link), &upper = network.upper(one.link);
  const std::string ifb = shaped.uplink_interface();
  const bool at_switch = one.own.place == Place::kSwitch;
  const auto stream = static_cast<std::uint64_t>(one.link);
  const LinkSpec link = highest(one);
  const auto add_netem = [&](const std::string& interface, TrafficHandle at) {
    Channel& channel = channels_.back();
    const Impairment impairment = channel.own().impairment;
    channel.netem = Netem{.netlink = &netlink_in(upper),
                          .interface = interface,
                          .at = at,
                          .seed = netem_seed(one.own, stream, channel.up)};
    if (impairment.jitter.count() > 0) channel.netem->table = table_of(impairment);
    change_netem(channel, 0, 0);
  };
  add_channel(at_switch ? upper : lower, at_switch ? ifb : shaped.lower_interface(), one, true);
  if (!link.up.impairment.none() && at_switch)
    add_netem(ifb, kBelowGate);
  else if (!link.up.impairment.none() && one.changes_impairment && one.is_trunk)
    add_netem(ifb, kRootOfIfb);
  add_channel(upper, shaped.upper_interface(), one, false);
  if (!link.down.impairment.none()) add_netem(shaped.upper_interface(), kBelowGate);
}

void SchedulePlayer::add_channel(const Host& at, const std::string& interface,
                                 const ScheduledLink& one, bool up) {
  const LinkSpec link = highest(one).with_defaults();
  const Direction &direction = up ? link.up : link.down, &own = up ? one.own.up : one.own.down;
  const Schedule& schedule = up ? one.up : one.down;
  ScheduleQdiscSettings settings;
  settings.highest_rate = schedule.most_rate();
  // netem has no bucket, so the depth is the single frame that HTB sends at once.
  settings.burst = own.shaper == Shaper::kNetem ? link.frame_bytes() + own.overhead : own.burst;
  settings.queue = direction.queue;
  settings.overhead = own.overhead;
  settings.frame_bytes = static_cast<int>(link.frame_bytes());
  at.inside([&] {
    auto qdisc = std::make_unique<ScheduleQdisc>(interface, settings);
    const double packet = qdisc->largest_packet();
    channels_.push_back({one, up, std::move(qdisc), RateKeeper(schedule, packet), -1, {}, false});
  });
  Channel& channel = channels_.back();
  channel.qdisc->set_rate(channel.rate = schedule.at(0).rate);
  channel.qdisc->check();
}

Netlink& SchedulePlayer::netlink_in(const Host& at) {
  std::unique_ptr<Netlink>& netlink = netlinks_[&at];
  if (!netlink) at.inside([&] { netlink = std::make_unique<Netlink>(); });
  return *netlink;
}

bool SchedulePlayer::change_netem(Channel& channel, double from, double until) {
  if (!channel.netem) return false;
  Netem& netem = *channel.netem;
  const LinkState state = channel.schedule().mean(from, until);
  Impairment impairment = channel.own().impairment;
  impairment.delay = to_nanoseconds(state.delay);
  if (!impairment.bursts) impairment.loss.percent = state.loss * 100;
  if (impairment == netem.applied && !options_.tell_always) return false;
  netem.applied = impairment;
  NetemSettings settings;
  settings.impairment = impairment;
  settings.table = netem.table;
  // A change restarts the kernel's generator. With the same seed, every interval between two
  // changes would have the same draws.
  if (netem.seed) settings.seed = SplitMix64::mix(*netem.seed + netem.settings_sent++);
  // The limit is for the longest delay at the highest rate, whatever is in force now.
  const LinkSpec most = highest(channel.link).with_defaults();
  settings.limit = netem_limit(channel.up ? most.up : most.down, most.frame_bytes());
  netem.request = netem_request(settings);
  netem.netlink->set_qdisc(netem.interface, netem.at, netem.request);
  return true;
}

const ScheduledLink* SchedulePlayer::find(int link) const {
  for (const ScheduledLink& one : links_)
    if (one.link == link) return &one;
  return nullptr;
}

LinkState SchedulePlayer::mean(int link, bool up, double from, double to) const {
  if (const ScheduledLink* one = find(link)) return (up ? one->up : one->down).mean(from, to);
  const LinkSpec own =
      planned_.is_trunk(link) ? as_trunk(planned_.link(link)) : planned_.link(link);
  return state_of(up ? own.up : own.down);
}

LinkMean SchedulePlayer::mean(int link, double from, double to) const {
  const LinkState up = mean(link, true, from, to), down = mean(link, false, from, to);
  return {up.rate, down.rate, down.delay, down.loss};
}

double SchedulePlayer::bits(int link, bool up, double from, double to) const {
  if (const ScheduledLink* one = find(link)) return (up ? one->up : one->down).bits(from, to);
  const double rate = rate_of(planned_.link(link), up);
  return rate > 0 ? rate * (to - from) : std::numeric_limits<double>::infinity();
}

SchedulePlayer::~SchedulePlayer() {
  try {
    stop();
  } catch (const std::exception&) {
    // The links end with the network.
  }
}

void SchedulePlayer::start(double in_seconds, double from) {
  clock_.go_from(from, in_seconds);
  begin_thread();
}

void SchedulePlayer::stand(double at) {
  clock_.stand_at(at);
  begin_thread();
}

void SchedulePlayer::begin_thread() {
  if (thread_.joinable()) return wake();
  stopping_ = false;
  thread_ = std::thread([this] {
    block_signals();
    take_precedence();
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
  stopping_ = true;
  wake();
  thread_.join();
  for (Channel& channel : channels_)
    if (channel.rate <= 0) channel.qdisc->set_rate(channel.rate = channel.schedule().most_rate());
}

void SchedulePlayer::wake() {
  const std::uint64_t one = 1;
  if (write(wake_.get(), &one, sizeof(one)) != sizeof(one)) throw SystemError("wake the player");
}

void SchedulePlayer::check() const {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

double SchedulePlayer::next_after(double t) const {
  double next = t;
  do {
    double first = t + options_.longest;
    for (const ScheduledLink& one : links_)
      first = std::min({first, one.up.next_change(next, options_.interval),
                        one.down.next_change(next, options_.interval)});
    next = first;
  } while (next < t + kOneMoment);
  return next;
}

bool SchedulePlayer::change_all(double until) {
  bool changed = false;
  for (Channel& channel : channels_) {
    const QueueReading reading = channel.qdisc->read();
    const double from = now();
    const double rate = channel.keeper.plan(from, std::max(until, from + kOneMoment), reading);
    changed = change_netem(channel, from, std::max(until, from + kOneMoment)) || changed;
    if (rate == channel.rate && !options_.tell_always) continue;
    channel.qdisc->set_rate(channel.rate = rate);
    channel.changed = changed = true;
  }
  return changed;
}

void SchedulePlayer::check_changed() {
  for (Channel& channel : channels_) {
    if (channel.changed) channel.qdisc->check();
    channel.changed = false;
  }
}

bool SchedulePlayer::wait_until(double t, const ScheduleClock::Setting& setting) const {
  const FileDescriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  itimerspec when = {};  // disarmed
  if (setting.goes) when.it_value = setting.moment_of(t);
  if (!timer.valid() || timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &when, nullptr) != 0)
    throw SystemError("set a timer");
  pollfd waiting[] = {{timer.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
  while (poll(waiting, 2, -1) < 0)
    if (errno != EINTR) throw SystemError("wait for a timer");
  if ((waiting[1].revents & POLLIN) == 0) return true;
  std::uint64_t count = 0;
  if (::read(wake_.get(), &count, sizeof(count)) != sizeof(count)) throw SystemError("eventfd");
  return false;
}

void SchedulePlayer::begin_anew(const ScheduleClock::Setting& setting) {
  for (Channel& channel : channels_) channel.keeper.begin_anew();
  if (setting.goes) return;  // play() waits for the moment
  const bool changed = change_all(next_after(setting.time));
  check_changed();
  const std::lock_guard lock(mutex_);
  if (changed) ++changes_;
}

void SchedulePlayer::play() {
  ScheduleClock::Setting setting;  // number 0: not set yet
  for (double due = 0; !stopping_;) {
    if (const ScheduleClock::Setting now = clock_.setting(); now.number != setting.number) {
      setting = now;
      due = setting.time;
      begin_anew(setting);
    }
    if (!wait_until(due, setting)) continue;
    // After a long preemption the thread skips the changes that it missed. The rate keepers make up
    // for the traffic that the schedule allowed in the skipped time.
    const double next = next_after(std::max(due, now()));
    const bool changed = change_all(next);
    const double late = now() - due;
    check_changed();
    const bool reset = clock_.setting().number != setting.number;  // the clock was set meanwhile
    due = next;
    if (!changed || reset) continue;
    const std::lock_guard lock(mutex_);
    ++changes_;
    if (late_.size() < kMaxTimes) late_.push_back(late);
  }
}

std::vector<std::string> SchedulePlayer::drift() const {
  std::vector<std::string> found;
  const auto add = [&](int link, const std::string& what) {
    if (!what.empty()) found.push_back(fmt::format("link {}: {}", planned_.link_name(link), what));
  };
  for (const Channel& channel : channels_) {
    std::string what = channel.qdisc->drift();
    if (const std::optional<Netem>& netem = channel.netem; what.empty() && netem)
      what = netem->netlink->qdisc_difference(netem->interface, netem->at, netem->request);
    add(channel.link.link, what);
  }
  for (int link = 0; link < planned_.links(); ++link)
    if (find(link) == nullptr)
      for (const std::string& one : network_.shaped(link).drift()) add(link, one);
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
  report.late_median = median(late);
  report.late_p95 = quantile(late, 0.95);
  report.late_most = quantile(late, 1);
  return report;
}

}  // namespace thinpipe
