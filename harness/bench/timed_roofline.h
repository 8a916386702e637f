// The roofline as things to time beside the compressors, in the same run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/bench/inputs.h"
#include "harness/bench/measure.h"
#include "harness/bench/table.h"
#include "harness/bench/team.h"

namespace thinpipe {

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
