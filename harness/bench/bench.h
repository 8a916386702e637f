// `thinpipe bench` without its command line.
#pragma once

#include <string>
#include <vector>

#include "harness/bench/options.h"
#include "harness/bench/table.h"

namespace thinpipe {

struct BenchResult {
  std::vector<BenchGroup> groups;
  std::vector<std::string> failures;  ///< what was not measured or did not validate, and why
  std::string json;                   ///< Google Benchmark's format, what failed left out
};

/// Measures every compressor on every tensor with every number of threads and instruction set.
/// Tells on stderr how far it is.
/// @throws InputError for bad specs, names and traces; RunError when interrupted.
BenchResult run_bench(const BenchOptions& options);

/// What stands above the tables: machine, inputs, how times were taken.
std::string bench_heading(const BenchOptions& options);

}  // namespace thinpipe
