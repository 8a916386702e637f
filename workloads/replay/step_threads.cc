#include "workloads/replay/step_threads.h"

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace thinpipe {
namespace {

// A few microseconds of arithmetic, so that reading the clock takes little of the time.
void work_a_moment() {
  volatile double value = 1;
  for (int i = 0; i < 1000; ++i) value = value * 0.999 + 1;
}

}  // namespace

ExchangeThread::ExchangeThread() : thread_([this] { work(); }) {}

ExchangeThread::~ExchangeThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ExchangeThread::submit(std::function<void()> begin, std::function<bool()> poll) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back({std::move(begin), std::move(poll)});
  }
  changed_.notify_all();
}

std::size_t ExchangeThread::wait(std::size_t count, double until) {
  // The monotonic clock and steady_clock have the same epoch.
  const std::chrono::steady_clock::time_point deadline(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(std::min(until, kLastMoment))));
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return ended_ >= count || error_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return ended_;
}

std::size_t ExchangeThread::wait(std::size_t count, const std::function<bool()>& done) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ >= count || error_ || done(); });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return ended_;
}

void ExchangeThread::wake() {
  { const std::lock_guard lock(mutex_); }  // a wait() has either seen the change or sleeps by now
  changed_.notify_all();
}

void ExchangeThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || ended_ < jobs_.size(); });
    if (stop_) return;
    std::exception_ptr error;
    try {
      if (!take_turn(lock)) continue;
    } catch (...) {
      error = std::current_exception();
    }
    if (!lock.owns_lock()) lock.lock();
    if (error) {
      error_ = error;
      jobs_.clear();
      begun_ = ended_ = 0;
    } else {
      ++ended_;
    }
    changed_.notify_all();
  }
}

/// Begins the next job, or polls the first unfinished one. @returns whether the first has ended
bool ExchangeThread::take_turn(std::unique_lock<std::mutex>& lock) {
  if (ended_ < begun_ && !jobs_[ended_].poll) return true;
  if (begun_ < jobs_.size()) {
    const std::function<void()> begin = std::move(jobs_[begun_].begin);
    lock.unlock();
    begin();
    lock.lock();
    ++begun_;
    return false;
  }
  const std::function<bool()> poll = jobs_[ended_].poll;
  lock.unlock();
  const bool ended = poll();
  lock.lock();
  return ended;
}

void work_for(double cpu_seconds) {
  const double until = now_seconds(CLOCK_THREAD_CPUTIME_ID) + cpu_seconds;
  while (now_seconds(CLOCK_THREAD_CPUTIME_ID) < until) work_a_moment();
}

ComputeThread::ComputeThread(std::function<void()> reached)
    : tell_(std::move(reached)), thread_([this] { run(); }) {}

ComputeThread::~ComputeThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ComputeThread::begin(const std::vector<double>& moments) {
  {
    const std::lock_guard lock(mutex_);
    reached_ = 0;
    moments_ = &moments;
  }
  changed_.notify_all();
}

void ComputeThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || moments_ != nullptr; });
    double worked = 0;
    for (std::size_t i = 0; !stop_ && i < moments_->size(); ++i) {
      const double moment = (*moments_)[i];
      const bool is_last = i + 1 == moments_->size();
      lock.unlock();
      work_for(moment - worked);
      worked = std::max(worked, moment);
      lock.lock();
      if (is_last) moments_ = nullptr;
      ended_ = now_seconds();
      ++reached_;
      lock.unlock();
      tell_();
      lock.lock();
      if (is_last) break;
    }
    if (stop_) return;
  }
}

}  // namespace thinpipe
