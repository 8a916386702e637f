// A bench's rows in Google Benchmark's own JSON, so that its compare.py reads them.
#pragma once

#include <string>
#include <vector>

#include "harness/bench/bench.h"
#include "harness/bench/measure.h"

namespace thinpipe {

/// Written by Google Benchmark's JSONReporter; then the machine's name is taken out of the context
/// and the options of the bench are put in, and which GPU there was.
/// @param device  null: none
std::string google_benchmark_json(const std::vector<benchmark::BenchmarkReporter::Run>& rows,
                                  const BenchOptions& options, const BenchDevice* device = nullptr);

}  // namespace thinpipe
