// What was timed on a device as Google Benchmark's rows.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "harness/bench/device/measure.h"

namespace thinpipe {

/// What a row of a device says beside its times.
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
