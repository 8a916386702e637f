// A thread that carries out exchanges one after the other while compute and codec work continues,
// as a communication stream does.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
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
  void reserve(std::size_t jobs);
  void submit(std::function<void()> job);
  /// Submits a job that continues while later jobs begin. The job's `begin` runs when it is the
  /// job's turn. When no other job is left to begin, `poll` is called until it returns true, which
  /// ends the job. If several jobs are unfinished, only the first of them is polled, since a poll
  /// moves the data of all of them. A poll yields the CPU for a moment if there is no data to move.
  void submit(std::function<void()> begin, std::function<bool()> poll);

  /// Returns how many jobs have ended since the last forget().
  std::size_t ended();
  /// Waits until `count` jobs have ended, or until the time `until` of the monotonic clock. If a
  /// job has thrown an exception, rethrows it, once; later jobs are dropped.
  /// @returns ended()
  std::size_t wait(std::size_t count, double until);
  std::size_t wait(std::size_t count);
  /// Waits until `count` jobs have ended, or until `done` returns true. `done` is called again
  /// after wake(). Rethrows an exception of a job, as above. @returns ended()
  std::size_t wait(std::size_t count, const std::function<bool()>& done);
  /// Makes a wait() with `done` call it again. Thread-safe.
  void wake();
  /// Forgets the jobs of the previous step. All must have ended.
  void forget();

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

}  // namespace thinpipe
