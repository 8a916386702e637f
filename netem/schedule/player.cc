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

namespace thinpipe {

namespace {

constexpr double kLeastSpan = 2e-4;          // s; closer moments are one
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

// As star.cc names the two ends of a host's throttled link.
constexpr const char* kHostInterface = "thin0";
std::string port_name(int host) { return fmt::format("data{}", host); }

// A link's rate may be its directions' business.
template <typename Link>
auto& direction_of(Link& link) {
  if constexpr (requires { link.up; })
    return link.up;
  else
    return link;
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

SchedulePlayer::SchedulePlayer(Star& star, const LinkSpec& link, const ScheduleSpec& schedule,
                               const PlayerOptions& options)
    : schedule_(schedule.on({direction_of(link).rate, 0, 0})),
      options_(options),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!wake_.valid()) throw SystemError("eventfd");
  const double highest = schedule_.most_rate();
  LinkSpec at_highest = link;
  direction_of(at_highest).rate = highest;
  at_highest = at_highest.with_defaults();
  const std::uint32_t queue = direction_of(at_highest).queue, burst = direction_of(link).burst;
  const auto add = [&](const std::string& interface) {
    auto qdisc = std::make_unique<ScheduleQdisc>(interface, highest, burst, queue);
    const double piece = qdisc->largest_piece();
    channels_.push_back({std::move(qdisc), RateKeeper(schedule_, piece)});
  };
  for (int i = 0; i < star.size(); ++i) {
    star.host(i).inside([&] { add(kHostInterface); });
    add(port_name(i));
  }
  const double first = schedule_.at(0).rate;
  for (Channel& channel : channels_) channel.qdisc->set_rate(channel.rate = first);
}

SchedulePlayer::~SchedulePlayer() {
  try {
    stop();
  } catch (const std::exception&) {
    // The links go with the star.
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
    if (channel.rate <= 0) channel.qdisc->set_rate(channel.rate = schedule_.most_rate());
}

void SchedulePlayer::check() const {
  const std::lock_guard lock(mutex_);
  if (error_) std::rethrow_exception(error_);
}

double SchedulePlayer::next_after(double t) const {
  double next = t;
  do next = schedule_.next_change(next, options_.interval);
  while (next < t + kLeastSpan);
  return std::min(next, t + options_.longest);
}

bool SchedulePlayer::change_all(double until) {
  bool told = false;
  for (Channel& channel : channels_) {
    const QueueReading reading = channel.qdisc->read();
    const double from = now();
    const double rate = channel.keeper.plan(from, std::max(until, from + kLeastSpan), reading);
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
