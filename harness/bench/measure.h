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

/// Timings, and Google Benchmark's rows with aggregates. The rows have ns_per_element, GB_per_s,
/// allocations and (of repetitions) their position in the order as additional counters.
struct Measurement {
  Timings timings;
  std::vector<benchmark::BenchmarkReporter::Run> rows;
};
/// Times all subjects in one run, repetitions in random order, so that the machine's drift spreads
/// over all.
Measurement measure(const std::vector<Timed>& what, const BenchOptions& options,
                    const std::function<void(const std::string&)>& progress);

/// Returns the rows in Google Benchmark's own JSON, so that its compare.py reads them. They are
/// written by Google Benchmark's JSONReporter; the context then lacks the machine's name, and has
/// the options of the bench and the GPU.
/// @param device  null without one
std::string google_benchmark_json(const std::vector<benchmark::BenchmarkReporter::Run>& rows,
                                  const BenchOptions& options, const BenchDevice* device = nullptr);

}  // namespace thinpipe
