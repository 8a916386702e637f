#include "workloads/replay/compute_thread.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace thinpipe {
namespace {

// A few microseconds of arithmetic, so that reading the clock takes little of the time.
void work_a_moment() {
  volatile double value = 1;
  for (int i = 0; i < 1000; ++i) value = value * 0.999 + 1;
}

}  // namespace

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
