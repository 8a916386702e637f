// A worker's step of a parameter server, over threads.
#pragma once

#include <cstddef>
#include <span>

#include "workloads/collectives/push_pull_worker.h"

namespace thinpipe {

/// Pushes these payloads and waits until all of their units are pulled.
inline void push_and_pull(PushPullWorker& worker, std::span<const UnitPayload> payloads) {
  const std::size_t pushed = worker.push(payloads);
  while (!worker.pull(pushed)) {
  }
}

}  // namespace thinpipe
