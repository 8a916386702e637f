// All that is timed on a device in one run.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/bench/device/slice.h"
#include "harness/bench/options.h"

namespace thinpipe {

/// What came of one DeviceTimed; one value a repetition.
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

}  // namespace thinpipe
