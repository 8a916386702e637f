// The roofline as things to time beside the compressors, in the same run, and the threads that do
// it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/bench/inputs.h"
#include "harness/bench/measure.h"
#include "harness/bench/results.h"

namespace thinpipe {

/// `size` threads, the caller among them, that run one function at the same time. Waiting is busy
/// at first, so that starting costs a microsecond, not a wake-up; then they sleep.
class Team {
 public:
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(others_.size()) + 1; }
  /// work(0) ... work(size() - 1), each on its own thread; returns when all have.
  void run(const std::function<void(int)>& work);

 private:
  void serve(int index);

  const std::function<void(int)>* work_ = nullptr;
  std::atomic<unsigned> round_ = 0;  ///< counts calls of run()
  std::atomic<int> running_ = 0;
  std::atomic<bool> over_ = false;
  std::vector<std::thread> others_;
};

/// Where and how large, as it stands in the names of benchmarks:
/// "laplace:26000000/memory/threads:1".
std::string place_name(const Inputs& inputs, int threads);

/// Reads, copy and triad of one tensor's arrays for every number of threads. Always by the best
/// instruction set: t_R is what the machine can do. Each repetition takes a quarter of the bench's
/// time, at least 5 ms where the bench's has as many. Inputs must outlive it.
class TimedRoofline {
 public:
  TimedRoofline(const Inputs& inputs, const BenchOptions& options);

  /// Refers to this object.
  std::vector<Timed> timed();

  /// The figures of one of the numbers of threads. A read that is faster with fewer of them, as
  /// small tensors' are, counts for all.
  RooflineFigures figures(const Measurement& measured, int threads) const;

 private:
  Timed timed_one(const std::string& what, int threads, std::function<void()> call) const;
  double nanoseconds(const Measurement& measured, const std::string& what, int threads) const;

  const Inputs& inputs_;
  std::vector<std::unique_ptr<Team>> teams_;
  std::size_t step_ = 0;
  double min_time_;  // s
};

}  // namespace thinpipe
