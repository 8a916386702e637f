// Compute time that a replay spends as CPU time, in place of waiting.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace thinpipe {

/// Keeps this thread's core busy until the thread has used so many seconds of CPU time.
void work_for(double cpu_seconds);

/// Spends CPU time as forward and backward passes do, beside the threads that compress and
/// exchange.
class ComputeThread {
 public:
  /// @param reached  called by the thread after each moment
  explicit ComputeThread(std::function<void()> reached);
  /// Ends the work at the next moment, and joins the thread.
  ~ComputeThread();
  ComputeThread(const ComputeThread&) = delete;
  ComputeThread& operator=(const ComputeThread&) = delete;

  /// Begins a step. The step before must have reached all its moments.
  /// @param moments  at least one, in seconds of CPU time since this call; a moment before an
  /// earlier one is reached at once; must not change until all are reached
  void begin(const std::vector<double>& moments);
  /// Returns how many moments were reached since begin(). Thread-safe.
  std::size_t reached() const { return reached_; }
  /// Returns when the last moment was reached, by the monotonic clock. Call it after that.
  double ended() const { return ended_; }

 private:
  void run();

  std::function<void()> tell_;
  std::mutex mutex_;
  std::condition_variable changed_;
  const std::vector<double>* moments_ = nullptr;  ///< of the step under way; else null
  bool stop_ = false;
  double ended_ = 0;
  std::atomic<std::size_t> reached_ = 0;
  std::thread thread_;
};

}  // namespace thinpipe
