// A rank of a training job.
#pragma once

#include <memory>
#include <string>

#include "harness/worker/worker.h"

namespace thinpipe {

/// Returns a worker of a training job (MakeWorker). Its `prepare` also has `training` {model,
/// learner}: ModelDescription, LearnerOptions.
std::unique_ptr<Worker> make_train_worker(MessageSocket socket, std::string scratch);

}  // namespace thinpipe
