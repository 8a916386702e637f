#include "workloads/replay/exchange_thread.h"

#include <chrono>
#include <utility>

namespace thinpipe {

ExchangeThread::ExchangeThread() : thread_([this] { work(); }) {}

ExchangeThread::~ExchangeThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ExchangeThread::reserve(std::size_t jobs) {
  const std::lock_guard lock(mutex_);
  jobs_.reserve(jobs);
}

void ExchangeThread::submit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

std::size_t ExchangeThread::ended() {
  const std::lock_guard lock(mutex_);
  return ended_;
}

std::size_t ExchangeThread::wait(std::size_t count, double until) {
  // The monotonic clock's epoch is that of steady_clock.
  const std::chrono::steady_clock::time_point deadline(
      std::chrono::duration_cast<std::chrono::steady_clock::duration>(
          std::chrono::duration<double>(until)));
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, deadline, [&] { return ended_ >= count || error_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return ended_;
}

std::size_t ExchangeThread::wait(std::size_t count) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return ended_ >= count || error_; });
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return ended_;
}

void ExchangeThread::forget() {
  const std::lock_guard lock(mutex_);
  jobs_.clear();
  ended_ = 0;
}

void ExchangeThread::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stop_ || ended_ < jobs_.size(); });
    if (stop_) return;
    const std::function<void()> job = std::move(jobs_[ended_]);
    lock.unlock();
    std::exception_ptr error;
    try {
      job();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) {
      error_ = error;
      jobs_.clear();
      ended_ = 0;
    } else {
      ++ended_;
    }
    changed_.notify_all();
  }
}

}  // namespace thinpipe
