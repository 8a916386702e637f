// A plausible run made by formula, plainly synthetic: for looking at reports and testing them
// whole.
#pragma once

#include "reports/record/record.h"

namespace thinpipe::sample {

struct SyntheticRun {
  std::vector<int> ranks = {4};
  std::vector<double> rates = {10e6, 100e6, 1000e6};
  int repeats = 3;
  int steps = 20;
  bool has_problems = true;  ///< two invalid points and a failed one
};

/// A ring all-reduce for `none` and `bf16`, a ring all-gather for the compressors, over 431 080
/// elements, with seeded noise. The model of every compressor says "synthetic".
Records synthetic_run(const SyntheticRun& run = {});

/// The same as the text of a records file.
std::string records_text(const Records& records);

}  // namespace thinpipe::sample
