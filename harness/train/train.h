// A training run: every compressor on every link with every seed, each point trained to its end and
// recorded.
#pragma once

#include "harness/train/options.h"

namespace thinpipe {

/// Trains what is not in the records yet; progress goes to stderr.
/// @returns as run_sweep() does @throws InputError, RunError before anything is trained
int run_train(TrainOptions options);

}  // namespace thinpipe
