// All compressors on one tensor: warmed up, timed in runs that fit the memory, validated.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compressors/spec.h"
#include "harness/bench/bench.h"
#include "harness/bench/inputs.h"
#include "harness/bench/measure.h"
#include "harness/bench/subject.h"
#include "harness/bench/timed_roofline.h"
#include "harness/sweep/progress.h"

namespace thinpipe {

/// One row to be.
struct BenchPoint {
  Spec spec;
  int threads = 1;
  std::string simd;       ///< of simd_targets()
  std::string name = "";  ///< "topk:ratio=0.01/laplace:26000000/memory/threads:1/simd:avx2"
  std::unique_ptr<Subject> subject = nullptr;
  Quality quality = {};
};

class TensorBench {
 public:
  /// Adds a group for each number of threads to `result`, and to `rows` what goes into the JSON.
  TensorBench(const BenchOptions& options, const Inputs& inputs, Progress& progress,
              BenchResult& result, std::vector<benchmark::BenchmarkReporter::Run>& rows);

  /// What a compressor does wrong goes to the result's failures. @throws RunError if interrupted.
  void run(std::vector<BenchPoint> points);

 private:
  bool prepare(BenchPoint& point);
  void fail(const BenchPoint& point, const std::string& reason);
  template <class Work>
  bool guarded(const BenchPoint& point, Work work);
  Timed timed_point(BenchPoint& point, bool encode) const;
  void time_batch(std::vector<BenchPoint>& batch);
  void add_row(const BenchPoint& point, double t_r, const Measurement& measured, BenchGroup& group,
               std::map<std::string, double>& accepted);
  void add_json(const Measurement& measured, const std::map<std::string, double>& t_r);

  const BenchOptions& options_;
  const Inputs& inputs_;
  Progress& progress_;
  BenchResult& result_;
  std::vector<benchmark::BenchmarkReporter::Run>& rows_;
  std::size_t first_group_;
  TimedRoofline roofline_;
  bool roofline_told_ = false;
};

}  // namespace thinpipe
