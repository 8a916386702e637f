// Times work on a device by the device's clock and by the host's clock, which must agree. Makes
// rows in Google Benchmark's format from the times.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compressors/cuda/device/device_memory.h"
#include "harness/bench/options.h"

namespace thinpipe {

/// Work to time on a device.
struct DeviceTimed {
  std::string name;            ///< unique within one measurement
  std::function<void()> call;  ///< starts the work of one call
  bool waits = false;          ///< call() also waits for the work; else calls queue up
};

/// Times of one of several calls, in seconds.
struct DeviceSlice {
  /// Time of a call by the device's clock. For calls that wait, it is the time from the begin of a
  /// call to the end of its last work. For queued calls, it is the time of all calls divided by the
  /// number of calls.
  double device = 0;
  double wall = 0;  ///< by the host, until the device is idle
  double cpu = 0;   ///< CPU time of the calling thread
};

/// Times a slice, which is a number of calls, by both clocks. The host's clock stops when the whole
/// device is idle. Work outside the device's marks (on another stream, or queued and not begun)
/// therefore makes the two clocks differ. The clocks must agree within 2 % plus 0.1 ms, which is
/// more than starting, waiting and the marks take. Interruptions on the host can also make the
/// clocks differ, so a slice in which the clocks disagree is repeated.
/// @throws ValidationError when three slices disagree
DeviceSlice take_slice(DeviceClock& clock, const DeviceTimed& timed, int calls);

/// Result of one DeviceTimed, with one value for each repetition.
struct DeviceTiming {
  std::vector<double> device;      ///< s of a call, as DeviceSlice has it
  std::vector<double> wall;        ///< s of a call
  std::vector<double> cpu;         ///< s of a call
  std::vector<std::size_t> order;  ///< number of earlier repetitions in this run
  int calls = 1;                   ///< of every repetition
  std::string error;               ///< that stopped it; all else is then invalid
};

using DeviceTimings = std::map<std::string, DeviceTiming>;  ///< by DeviceTimed::name

/// Times the repetitions of all subjects in random order. Each repetition takes at least min_time,
/// or 20,000 calls, and follows an untimed call. @throws RunError when interrupted
DeviceTimings measure_on_device(DeviceClock& clock, const std::vector<DeviceTimed>& what,
                                const BenchOptions& options,
                                const std::function<void(const std::string&)>& progress);

/// Fields of a device's row other than its times.
struct DeviceRowInfo {
  std::string name;          ///< "encode/topk:ratio=0.01/laplace:26000000/memory/cuda"
  std::size_t elements = 1;  ///< of a call
  std::size_t family = 0;    ///< number of the timed subject
  double t_r = 0;            ///< ns/element; 0: rows have no times_t_r
  /// Copied to rows whose time is a time of a call; no NaN.
  std::map<std::string, double> counters = {};
};

/// Returns a row for each repetition, then mean, median, standard deviation and coefficient of
/// variation, as Google Benchmark does with UseManualTime(). real_time is the device's time and
/// cpu_time that of the calling thread, both in ns of a call. The counters ns_per_element,
/// GB_per_s, times_t_r and (for repetitions) order are those of CPU rows. The counter
/// wall_ns_per_element is by the host's clock. Returns no rows if the timing failed.
std::vector<benchmark::BenchmarkReporter::Run> device_rows(const DeviceRowInfo& info,
                                                           const DeviceTiming& timing);

}  // namespace thinpipe
