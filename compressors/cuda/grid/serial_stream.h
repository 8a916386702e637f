// The stream of a simulated GPU.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "base/splitmix64.h"

namespace thinpipe::cuda {

/// Runs enqueued work in order: at random moments, and at the latest when the host waits for it. A
/// host that reads results or changes inputs too early therefore gets other results than on a
/// device that runs all work immediately. Thread-safe.
class SerialStream {
 public:
  using Work = std::function<void()>;

  explicit SerialStream(std::uint64_t seed) : random_(seed) {}

  void enqueue(Work work) {
    const std::lock_guard lock(mutex_);
    queued_.push_back(std::move(work));
    // A GPU may also have finished all enqueued work by now.
    constexpr std::uint64_t kOneOf = 8;
    if (random_.below(kOneOf) == 0) run_until(enqueued());
  }
  /// Returns how many operations have been enqueued.
  std::uint64_t enqueued() {
    const std::lock_guard lock(mutex_);
    return begun_ + queued_.size();
  }
  bool is_idle() {
    const std::lock_guard lock(mutex_);
    return queued_.empty();
  }
  /// Runs the first `number` enqueued operations.
  void run_until(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    while (begun_ < number && !queued_.empty()) {
      const Work work = std::move(queued_.front());
      queued_.pop_front();
      ++begun_;
      work();  // may call run_until() again, for earlier work
    }
  }
  void run() { run_until(enqueued()); }
  /// Returns a random choice between two behaviours of hardware.
  bool either() {
    const std::lock_guard lock(mutex_);
    return random_.below(2) == 0;
  }
  /// For operations outside of the stream, which lock it around their work. Recursive.
  std::recursive_mutex& mutex() { return mutex_; }

 private:
  std::recursive_mutex mutex_;
  SplitMix64 random_;
  std::deque<Work> queued_;
  std::uint64_t begun_ = 0;
};

}  // namespace thinpipe::cuda
