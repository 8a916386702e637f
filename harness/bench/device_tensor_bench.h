// Warms up, validates and times all compressors on one tensor in a device's memory. Each run times
// only as many compressors as fit into this memory.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compressors/cuda/timed_device.h"
#include "harness/bench/bench.h"
#include "harness/bench/device_measure.h"
#include "harness/bench/device_subject.h"
#include "harness/bench/results.h"
#include "harness/options/terminal.h"

namespace thinpipe {

class DeviceTensorBench {
 public:
  /// Adds one group of results and the device to `result`, and the rows of Google Benchmark's JSON
  /// to `rows`.
  /// @param open  opens a device with all memory free; opening the device anew frees the memory of
  /// compressors
  /// @param values  gradient of the tensor; must outlive this object
  DeviceTensorBench(const BenchOptions& options, OpenDevice open, TensorInfo tensor,
                    std::span<const float> values, Progress& progress, BenchResult& result,
                    std::vector<benchmark::BenchmarkReporter::Run>& rows);

  /// Adds compressor errors to the result's failures.
  /// @throws RunError if interrupted, or if the device itself fails its checks
  void run(const std::vector<Spec>& specs);

 private:
  struct Point {
    Spec spec;
    std::string name;  ///< "topk:ratio=0.01/laplace:26000000/memory/cuda"
    std::unique_ptr<DeviceSubject> subject;
    Quality quality;
  };

  void open();
  void close();
  bool prepare(Point& point);
  void add(const Spec& spec);
  void time_batch();
  std::vector<DeviceTimed> timed_roofline();
  RooflineFigures figures(const DeviceTimings& timings) const;
  void add_row(Point& point, const DeviceTimings& timings, const RooflineFigures& roofline);
  void add_json(DeviceRowInfo info, const DeviceTiming& timing);
  void check_reads();
  void note_device(double t_r);
  std::string place() const;
  BenchGroup& group() { return result_.groups[group_]; }
  void fail(const Point& point, const std::string& reason);

  const BenchOptions& options_;
  OpenDevice open_;
  TensorInfo tensor_;
  std::span<const float> values_;
  Progress& progress_;
  BenchResult& result_;
  std::vector<benchmark::BenchmarkReporter::Run>& rows_;
  std::size_t group_;
  std::optional<TimedDevice> device_;
  std::unique_ptr<DeviceInputs> inputs_;
  std::vector<Point> batch_;
  std::size_t read_ = 0, copied_ = 0;  ///< calls, each of which uses the next input
  std::size_t families_ = 0;           ///< subjects with rows in the JSON
};

}  // namespace thinpipe
