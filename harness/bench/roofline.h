// Roofline of the machine: memory and arithmetic at full speed, as work to time in the same run as
// the compressors, and the floor of an encode that follows from it.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "compressors/registry.h"
#include "harness/bench/inputs.h"
#include "harness/bench/measure.h"
#include "harness/bench/results.h"

namespace thinpipe {

/// A team of `size` threads, including the caller, that run one function at the same time. A thread
/// without work first spins, so that the next start costs a microsecond instead of a wake-up. If no
/// start comes, the thread sleeps.
class Team {
 public:
  explicit Team(int size);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return static_cast<int>(others_.size()) + 1; }
  /// Runs work(0) ... work(size() - 1), each on its own thread; returns when all have ended.
  void run(const std::function<void(int)>& work);

 private:
  void serve(int index);

  const std::function<void(int)>* work_ = nullptr;
  std::atomic<unsigned> round_ = 0;  ///< counts calls of run()
  std::atomic<int> running_ = 0;
  std::atomic<bool> over_ = false;
  std::vector<std::thread> others_;
};

/// Numbers of streams that one thread reads at the same time when the read time is measured. One
/// linear stream does not use all of the memory bandwidth. The roofline's read time t_R is the best
/// time over these numbers of streams.
inline constexpr int kStreamCounts[] = {1, 2, 4, 8};

/// Reads every element once and returns the sum. Every thread of the team has its own range of the
/// array. The thread divides this range into `streams` (of kStreamCounts) equal streams and reads
/// them in turn, a few cache lines of each at a time.
double read_streams(std::span<const float> x, int streams, Team& team);

/// to = from. STREAM's copy: reads 4 and writes 4 bytes an element.
void copy_array(std::span<const float> from, std::span<float> to, Team& team);

/// to = a + factor * b. STREAM's triad: reads 8 and writes 4 bytes an element.
void triad(std::span<const float> a, std::span<const float> b, float factor, std::span<float> to,
           Team& team);

/// to += from: reads 8 and writes 4 bytes an element, as adding a gradient to a residual does.
void add_array(std::span<const float> from, std::span<float> to, Team& team);

/// Sets all elements to `value`, by plain stores, as a payload is written.
void fill_array(float value, std::span<float> to, Team& team);

/// Computes at least `operations` multiply-adds on every thread, in registers. Returns how many all
/// threads have computed.
double multiply_add(std::size_t operations, Team& team);

/// Returns the part of a benchmark's name for its inputs: "laplace:26000000/memory/threads:1".
std::string place_name(const Inputs& inputs, int threads);

/// Number of kernels that TimedRoofline times for every number of threads: the reads, copy, triad,
/// reread, update, store and multiply_add.
inline constexpr std::size_t kRooflineKernels = std::size(kStreamCounts) + 6;

/// Times the roofline's kernels on one tensor's arrays for every number of threads. Always uses the
/// best instruction set, because t_R is the machine's limit. Each repetition takes a quarter of
/// BenchOptions::min_time, but at least 5 ms, or min_time itself if that is shorter than 5 ms.
/// Inputs must outlive this object.
class TimedRoofline {
 public:
  TimedRoofline(const Inputs& inputs, const BenchOptions& options);

  /// Returns the work to time, which refers to this object.
  std::vector<Timed> timed();

  /// Returns the figures for a number of threads. All figures but read, copy and triad are the best
  /// with at most `threads` threads, because small tensors may be faster with fewer threads.
  RooflineFigures figures(const Measurement& measured, int threads) const;

 private:
  Timed timed_one(const std::string& what, int threads, std::function<void()> call) const;
  double count_of(const std::string& what, int threads) const;
  double nanoseconds(const Measurement& measured, const std::string& what, int threads) const;
  double best_nanoseconds(const Measurement& measured, const std::string& what, int threads) const;

  const Inputs& inputs_;
  std::vector<std::unique_ptr<Team>> teams_;
  std::size_t step_ = 0;
  double min_time_;  // s
};

/// Returns the floor of an encode in ns/element: the time in which this machine moves the data that
/// the method's definition forces every encode to move, or does its arithmetic if that takes
/// longer:
///   max(first + (inputs - 1) t_R + (sweeps - 1) reread + states (update - t_R) + bits / 32 store,
///       multiply_adds multiply_add),
/// where first = update with a residual, and t_R without one.
/// @param bits  of the payload, for each element
double encode_floor(const EncodeTraffic& traffic, double bits, const RooflineFigures& roofline);

}  // namespace thinpipe
