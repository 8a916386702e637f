// Timing by Google Benchmark, and rows as it writes them.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "harness/bench/options.h"
#include "harness/bench/timed.h"
#include "harness/machine/gpu.h"

namespace thinpipe {

/// Times all of them in one run, repetitions in random order, so that the machine's drift spreads
/// over all. The rows are Google Benchmark's, aggregates included, with ns_per_element, GB_per_s,
/// allocations and (of repetitions) their place in the order added to the counters.
struct Measurement {
  Timings timings;
  std::vector<benchmark::BenchmarkReporter::Run> rows;
};
Measurement measure(const std::vector<Timed>& what, const BenchOptions& options,
                    const std::function<void(const std::string&)>& progress);

/// A bench's rows in Google Benchmark's own JSON, so that its compare.py reads them: written by
/// Google Benchmark's JSONReporter; then the machine's name is taken out of the context and the
/// options of the bench are put in, and which GPU there was.
/// @param device  null: none
std::string google_benchmark_json(const std::vector<benchmark::BenchmarkReporter::Run>& rows,
                                  const BenchOptions& options, const BenchDevice* device = nullptr);

}  // namespace thinpipe
