// `thinpipe bench` without its command line.
#pragma once

#include <string>
#include <vector>

#include "harness/bench/options.h"
#include "harness/bench/table.h"

namespace thinpipe {

/// A point that was not measured, or did not validate.
struct BenchFailure {
  std::string name;  ///< as BenchRow's
  Spec spec;
  std::string simd;
  std::size_t group = 0;  ///< of BenchResult::groups
  std::string reason;
};

struct BenchResult {
  std::vector<BenchGroup> groups;
  std::vector<BenchFailure> failures;
  std::string json;  ///< Google Benchmark's format, what failed left out
};

/// Measures every compressor on every tensor with every number of threads and instruction set.
/// Tells on stderr how far it is.
/// @throws InputError for bad specs, names and traces; RunError when interrupted.
BenchResult run_bench(const BenchOptions& options);

/// What stands above the tables: machine, inputs, how times were taken.
std::string bench_heading(const BenchOptions& options);

}  // namespace thinpipe
