// Pending work of a fake GPU.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "base/splitmix64.h"

namespace thinpipe::cuda {

/// Work that is done in order, as late as somebody waits for it, or, where chance has it, earlier:
/// who reads on the host what is not there yet, or changes what is still to be read from there,
/// gets something else than on a device that does all at once. Thread-safe.
class SerialStream {
 public:
  using Work = std::function<void()>;

  explicit SerialStream(std::uint64_t seed) : random_(seed) {}

  void ask(Work work) {
    const std::lock_guard lock(mutex_);
    queued_.push_back(std::move(work));
    // A GPU may also have come as far as this.
    constexpr std::uint64_t kOneOf = 8;
    if (random_.below(kOneOf) == 0) run_until(asked());
  }
  /// How much has been asked for.
  std::uint64_t asked() {
    const std::lock_guard lock(mutex_);
    return begun_ + queued_.size();
  }
  bool is_idle() {
    const std::lock_guard lock(mutex_);
    return queued_.empty();
  }
  /// Does what was asked for before `number` of them were.
  void run_until(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    while (begun_ < number && !queued_.empty()) {
      const Work work = std::move(queued_.front());
      queued_.pop_front();
      ++begun_;
      work();  // may get here again, for what was before it
    }
  }
  void run() { run_until(asked()); }
  /// One of two ways in which hardware may have it.
  bool either() {
    const std::lock_guard lock(mutex_);
    return random_.below(2) == 0;
  }
  /// Work beside the stream holds this mutex, and may lock it again.
  std::recursive_mutex& mutex() { return mutex_; }

 private:
  std::recursive_mutex mutex_;
  SplitMix64 random_;
  std::deque<Work> queued_;
  std::uint64_t begun_ = 0;
};

}  // namespace thinpipe::cuda
