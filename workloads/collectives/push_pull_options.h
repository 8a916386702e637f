// The options of the collectives `ps` and `twoshot`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compressors/registry.h"
#include "workloads/collectives/exchange_units.h"

namespace thinpipe {

/// Options of `ps:servers=2,partition=balanced,pull=same,update=workers` or `twoshot:second=same`.
struct PushPullOptions {
  int servers = 1;  ///< of `twoshot`: as many as workers
  Partition partition = Partition::kBalanced;
  std::optional<Spec> pull;  ///< compressor of answers; nothing: that of the push
  std::string pull_memory;   ///< replaces its parameter `memory`; "" leaves it
  bool colocated = false;    ///< every worker is a server (PushPullLayout)
  /// If true, the servers have the model and the optimiser, and answer with changes of the model
  /// (3LC, figure 2b). If false, the servers answer with the mean gradient, and each worker has an
  /// optimiser.
  bool servers_update = false;

  /// Returns the compressor of a server's answers to payloads of `push`. Answers are sent in every
  /// exchange. @throws InputError where pull_memory is set and the compressor has no `memory`
  Spec pull_of(const Spec& push) const;
};

/// Returns whether a compressor clips gradients, by the norm of the whole tensor.
/// @throws InputError as check_spec
bool clips(const Spec& spec);

/// Returns the options of a collective with push and pull, for the given number of workers. @throws
/// InputError as check_collective
PushPullOptions push_pull_options(const Spec& collective, int workers);

}  // namespace thinpipe
