// A training run: trains every compressor on every link with every seed to the end, and records
// each point.
#pragma once

#include "harness/train/options.h"

namespace thinpipe {

/// Trains all points that are not in the records yet. Progress goes to stderr.
/// @returns the exit code of run_sweep() @throws InputError, RunError before anything is trained
int run_train(TrainOptions options);

}  // namespace thinpipe
