// Threads of a step: one carries out exchanges one after the other while compute and codec work
// continues, as a communication stream does; another spends compute time as CPU time, in place of
// waiting.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace thinpipe {

/// Runs jobs in the order of submit(), one at a time; only jobs with a `poll` overlap. A single
/// thread calls submit() and wait(). Between submit() and wait() only jobs call MPI
/// (MPI_THREAD_SERIALIZED).
class ExchangeThread {
 public:
  ExchangeThread();
  /// Drops jobs that have not begun, and joins the thread.
  ~ExchangeThread();
  ExchangeThread(const ExchangeThread&) = delete;
  ExchangeThread& operator=(const ExchangeThread&) = delete;

  /// Reserves memory for the jobs of a step, so that submit() need not allocate.
  void reserve(std::size_t jobs) {
    const std::lock_guard lock(mutex_);
    jobs_.reserve(jobs);
  }
  void submit(std::function<void()> job) { submit(std::move(job), {}); }
  /// Submits a job that continues while later jobs begin. The job's `begin` runs when it is the
  /// job's turn. When no other job is left to begin, `poll` is called until it returns true, which
  /// ends the job. If several jobs are unfinished, only the first of them is polled, since a poll
  /// moves the data of all of them. A poll yields the CPU for a moment if there is no data to move.
  void submit(std::function<void()> begin, std::function<bool()> poll);

  /// Waits until `count` jobs have ended, or until the time `until` of the monotonic clock. If a
  /// job has thrown an exception, rethrows it, once; later jobs are dropped.
  /// @returns how many jobs have ended since the last forget()
  std::size_t wait(std::size_t count, double until);
  std::size_t wait(std::size_t count) {
    return wait(count, [] { return false; });
  }
  /// Waits until `count` jobs have ended, or until `done` returns true. `done` is called again
  /// after wake(). Rethrows an exception of a job and returns, as above.
  std::size_t wait(std::size_t count, const std::function<bool()>& done);
  /// Makes a wait() with `done` call it again. Thread-safe.
  void wake();
  /// Forgets the jobs of the previous step. All must have ended.
  void forget() {
    const std::lock_guard lock(mutex_);
    jobs_.clear();
    begun_ = ended_ = 0;
  }

 private:
  struct Job {
    std::function<void()> begin;
    std::function<bool()> poll;  ///< empty: ends when begin() does
  };

  void work();
  bool take_turn(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Job> jobs_;
  std::size_t begun_ = 0, ended_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
  std::thread thread_;
};

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
