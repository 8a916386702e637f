// `thinpipe bench` without its command line.
#pragma once

#include <functional>
#include <string>

#include "compressors/cuda/timed_device.h"
#include "harness/bench/options.h"
#include "harness/bench/results.h"
#include "harness/machine/gpu.h"

namespace thinpipe {

/// The GPU, anew; tests have another. @throws RunError where there is none
using OpenDevice = std::function<TimedDevice()>;
TimedDevice open_benched_gpu();

/// Measures every compressor on every tensor with every number of threads and instruction set, and
/// on the GPU where that is asked for. Tells on stderr how far it is.
/// @throws InputError for bad specs, names and traces; RunError when interrupted, or without a GPU.
BenchResult run_bench(const BenchOptions& options, const OpenDevice& open = open_benched_gpu);

/// Heading above the tables: machine, inputs, how times were taken.
/// @param device  null: none
std::string bench_heading(const BenchOptions& options, const BenchDevice* device = nullptr);

}  // namespace thinpipe
