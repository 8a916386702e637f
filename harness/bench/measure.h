// Timing by Google Benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <string>
#include <vector>

#include "harness/bench/options.h"
#include "harness/bench/timed.h"

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

/// True once the user has pressed Ctrl-C; the second time ends the program.
bool interrupted();
void watch_for_interrupt();

}  // namespace thinpipe
