// A thread beside the compute and codec work that carries out exchanges one after the other, as a
// communication stream does.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace thinpipe {

/// Jobs run in the order they were handed over, never two at a time; those of two parts overlap.
/// One thread hands over and
/// waits. All that MPI is asked between submit() and wait() is asked by the jobs
/// (MPI_THREAD_SERIALIZED).
class ExchangeThread {
 public:
  ExchangeThread();
  /// Jobs not begun yet are dropped.
  ~ExchangeThread();
  ExchangeThread(const ExchangeThread&) = delete;
  ExchangeThread& operator=(const ExchangeThread&) = delete;

  /// Room for so many jobs of a step is kept, so that none is allocated.
  void reserve(std::size_t jobs);
  void submit(std::function<void()> job);
  /// A job that goes on while others after it begin: when its turn comes `begin` runs, then, with
  /// no others to begin, `poll` again and again until it says that the job has ended. Where several
  /// go on, the first is polled: a poll moves the data of all of them, and yields the processor for
  /// a moment where there is none to move.
  void submit(std::function<void()> begin, std::function<bool()> poll);

  /// How many jobs have ended since the last forget().
  std::size_t ended();
  /// Waits until so many have, or until that moment of the monotonic clock. @returns ended()
  /// What a job threw is thrown here instead, once; jobs after it are dropped.
  std::size_t wait(std::size_t count, double until);
  std::size_t wait(std::size_t count);
  /// Forgets the jobs of the step before. All must have ended.
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
