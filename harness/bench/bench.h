// `thinpipe bench` without its command line.
#pragma once

#include <functional>
#include <string>

#include "compressors/cuda/timed_device.h"
#include "harness/bench/options.h"
#include "harness/bench/results.h"
#include "harness/machine/gpu.h"

namespace thinpipe {

/// Opens the GPU anew; tests open a simulated one. @throws RunError without a GPU
using OpenDevice = std::function<TimedDevice()>;
TimedDevice open_benched_gpu();

/// Measures every compressor on every tensor with every number of threads and instruction set, and
/// on the GPU if requested. Shows its progress on stderr.
/// @throws InputError for bad specs, names and traces; RunError when interrupted, or without a GPU.
/// @param measured  is called with all results so far after each tensor
BenchResult run_bench(const BenchOptions& options, const OpenDevice& open = open_benched_gpu,
                      const std::function<void(const BenchResult&)>& measured = {});

/// Returns the heading above the tables of results: the machine, the inputs, and the settings of
/// the timing.
/// @param device  null if no GPU was measured
std::string bench_heading(const BenchOptions& options, const BenchDevice* device = nullptr);

}  // namespace thinpipe
