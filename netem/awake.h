// Processors that do not go to sleep while traffic is measured.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace thinpipe {

/// A virtual machine whose processors all sleep may be woken late, and TCP over several links was
/// then seen to get 3 to 9 % less than there is: what the machine does, not what the network was
/// set to. Meanwhile a thread a processor runs that gives way to everything else.
class Awake {
 public:
  Awake() {
    for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1U); ++i)
      threads_.emplace_back([this] {
        const sched_param none = {};
        sched_setscheduler(0, SCHED_IDLE, &none);
        while (!ends_.load(std::memory_order_relaxed)) {
        }
      });
  }
  ~Awake() {
    ends_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  Awake(const Awake&) = delete;
  Awake& operator=(const Awake&) = delete;

  /// Processor time that the threads had so far: what nobody else wanted.
  double seconds() {
    double sum = 0;
    for (std::thread& thread : threads_)
      if (clockid_t clock; pthread_getcpuclockid(thread.native_handle(), &clock) == 0)
        sum += now_seconds(clock);
    return sum;
  }

 private:
  std::atomic<bool> ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace thinpipe
