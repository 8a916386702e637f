// Timing by Google Benchmark, and rows in its format.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "harness/bench/options.h"
#include "harness/bench/timed.h"
#include "harness/machine/gpu.h"

namespace thinpipe {

/// Timings, and the same results as rows of Google Benchmark, with aggregates. The rows have
/// additional counters: ns_per_element, GB_per_s, allocations and, for repetitions only, the
/// position in the order of timing.
struct Measurement {
  Timings timings;
  std::vector<benchmark::BenchmarkReporter::Run> rows;
};
/// Times all subjects in one run. The repetitions of all subjects are in random order, so that a
/// drift of the machine's speed affects all subjects alike.
Measurement measure(const std::vector<Timed>& what, const BenchOptions& options,
                    const std::function<void(const std::string&)>& progress);

/// Returns the rows in Google Benchmark's own JSON, so that Google Benchmark's compare.py can read
/// them. Google Benchmark's JSONReporter writes the rows. The machine's name is then removed from
/// the JSON's context, and the options of the bench and the GPU are added.
/// @param device  null without a GPU
std::string google_benchmark_json(const std::vector<benchmark::BenchmarkReporter::Run>& rows,
                                  const BenchOptions& options, const BenchDevice* device = nullptr);

}  // namespace thinpipe
