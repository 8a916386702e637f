// `thinpipe bench` without its command line.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compressors/cuda/timed_device.h"
#include "harness/bench/options.h"
#include "harness/bench/table.h"
#include "harness/fingerprint/nvml.h"

namespace thinpipe {

/// A point that was not measured, or did not validate.
struct BenchFailure {
  std::string name;  ///< as BenchRow's
  Spec spec;
  std::string simd;
  std::size_t group = 0;  ///< of BenchResult::groups
  std::string reason;
};

/// The GPU of a bench.
struct BenchDevice {
  DeviceDescription description;
  std::optional<GpuState> state;  ///< while it worked; nothing where that cannot be asked
};

struct BenchResult {
  std::vector<BenchGroup> groups;
  std::vector<BenchFailure> failures;
  std::string json;  ///< Google Benchmark's format, what failed left out; empty with turns
  std::optional<BenchDevice> device;  ///< where there was one
};

/// The GPU, anew; tests have another. @throws RunError where there is none
using OpenDevice = std::function<TimedDevice()>;
TimedDevice open_benched_gpu();

/// Measures every compressor on every tensor with every number of threads and instruction set, and
/// on the GPU where that is asked for. Tells on stderr how far it is.
/// @throws InputError for bad specs, names and traces; RunError when interrupted, or without a GPU.
BenchResult run_bench(const BenchOptions& options, const OpenDevice& open = open_benched_gpu);

/// What stands above the tables: machine, inputs, how times were taken.
/// @param device  null: none
std::string bench_heading(const BenchOptions& options, const BenchDevice* device = nullptr);

}  // namespace thinpipe
