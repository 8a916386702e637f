// Timing work on a device by its clock and by the host's, which must agree; and the rows of it, as
// Google Benchmark has them.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compressors/cuda/device/device_clock.h"
#include "harness/bench/options.h"

namespace thinpipe {

/// Something to time on a device.
struct DeviceTimed {
  std::string name;            ///< unique within one measurement
  std::function<void()> call;  ///< asks for the work of one call
  bool waits = false;          ///< call() also waits for it; else calls queue up behind each other
};

/// Times of one of several calls, in seconds.
struct DeviceSlice {
  /// By the device: of calls that wait, from a call's begin to the end of the last work that it
  /// asked for; else what all of them took together, over their number.
  double device = 0;
  double wall = 0;  ///< by the host, until the device had nothing left to do
  double cpu = 0;   ///< what the calling thread had of the processor meanwhile
};

/// Times so many calls. The host's clock is stopped when the whole device is idle: work that the
/// device's marks did not see (on another stream, or asked for and not begun) makes the two differ.
/// They must agree within 2 % and 0.1 ms, which is more than starting, waiting and the marks take.
/// Interruptions on the host can part them as well, so a slice that disagrees is taken again.
/// @throws ValidationError when three of them disagree
DeviceSlice take_slice(DeviceClock& clock, const DeviceTimed& timed, int calls);

/// Result of one DeviceTimed; one value a repetition.
struct DeviceTiming {
  std::vector<double> device;      ///< s of a call, as DeviceSlice has it
  std::vector<double> wall;        ///< s of a call
  std::vector<double> cpu;         ///< s of a call
  std::vector<std::size_t> order;  ///< how many repetitions of this run came before
  int calls = 1;                   ///< of every repetition
  std::string error;               ///< what stopped it; then the rest does not count
};

using DeviceTimings = std::map<std::string, DeviceTiming>;  ///< by DeviceTimed::name

/// Repetitions of all of them in random order, each of min_time at least, after a call that is not
/// timed. @throws RunError when interrupted
DeviceTimings measure_on_device(DeviceClock& clock, const std::vector<DeviceTimed>& what,
                                const BenchOptions& options,
                                const std::function<void(const std::string&)>& progress);

/// Fields of a device's row beside its times.
struct DeviceRowInfo {
  std::string name;          ///< "encode/topk:ratio=0.01/laplace:26000000/memory/cuda"
  std::size_t elements = 1;  ///< of a call
  std::size_t family = 0;    ///< counts what was timed
  double t_r = 0;            ///< ns/element; 0: no row says how often it takes that
  /// Go as they are into rows of which the time is one a call may take; no NaN.
  std::map<std::string, double> counters = {};
};

/// A row for each repetition, then mean, median, standard deviation and coefficient of variation,
/// as Google Benchmark has for what it times with UseManualTime(): real_time is the device's,
/// cpu_time what the calling thread had of the processor, both ns of a call. Counters: the CPU
/// rows' ns_per_element, GB_per_s, times_t_r and (of repetitions) order; wall_ns_per_element, until
/// the host knows. Nothing where the timing failed.
std::vector<benchmark::BenchmarkReporter::Run> device_rows(const DeviceRowInfo& info,
                                                           const DeviceTiming& timing);

}  // namespace thinpipe
