// The data that options name, for the model they name.
#pragma once

#include <memory>

#include "workloads/capture/learner_options.h"
#include "workloads/capture/options.h"
#include "workloads/training/batch.h"

namespace thinpipe {

/// All of it is learnt from; drawn images depend on the seed.
std::unique_ptr<BatchSource> make_batches(const CaptureOptions& options);

/// Some of it is held out (workloads/data/held_out.h).
struct LearnerData {
  std::unique_ptr<BatchSource> batches;
  std::unique_ptr<HeldOutBatches> held_out;
};

/// @throws InputError for data that cannot be read or are too few
LearnerData make_learner_data(const LearnerOptions& options);

}  // namespace thinpipe
