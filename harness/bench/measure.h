// Timing by Google Benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/bench/options.h"

namespace thinpipe {

/// Something to time.
struct Timed {
  std::string name;               ///< unique within one measure()
  double elements = 0;            ///< of one call, for ns/element
  double bytes = 0;               ///< of the d elements of one call, for GB/s
  std::function<void()> prepare;  ///< before each repetition, not timed
  std::function<void()> call;
  std::map<std::string, double> counters = {};  ///< go into its rows as they are; no NaN
};

/// What came of one Timed.
struct Timing {
  std::vector<double> seconds;  ///< of one call: one value a repetition
  double allocations = -1;      ///< of one call: the most of all repetitions; -1: not counted
  std::string error;            ///< what stopped it; then the rest does not count
  double median() const;        ///< s; NaN without repetitions
};

/// Times all of them in one run, repetitions in random order, so that the machine's drift spreads
/// over all. The rows are Google Benchmark's, aggregates included, with ns_per_element, GB_per_s
/// and allocations added to the counters.
struct Measurement {
  std::map<std::string, Timing> timings;
  std::vector<benchmark::BenchmarkReporter::Run> rows;
};
Measurement measure(const std::vector<Timed>& what, const BenchOptions& options,
                    const std::function<void(const std::string&)>& progress);

/// True once the user has pressed Ctrl-C; the second time ends the program.
bool interrupted();
void watch_for_interrupt();

}  // namespace thinpipe
