#include "netem/schedule/clock.h"

#include <algorithm>

namespace thinpipe {

namespace {

double monotonic_seconds() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
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
  return setting_.goes ? monotonic_seconds() - setting_.origin : setting_.time;
}

ScheduleClock::Setting ScheduleClock::setting() const {
  const std::lock_guard lock(mutex_);
  return setting_;
}

void ScheduleClock::go_from(double time, double in_seconds) {
  const std::lock_guard lock(mutex_);
  setting_ = {true, time, monotonic_seconds() + in_seconds - time, setting_.number + 1};
}

void ScheduleClock::stand_at(double time) {
  const std::lock_guard lock(mutex_);
  setting_ = {false, time, 0, setting_.number + 1};
}

}  // namespace thinpipe
