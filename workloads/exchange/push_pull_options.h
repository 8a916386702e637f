// The options of the patterns `ps` and `twoshot`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compressors/registry.h"
#include "workloads/exchange/exchange_units.h"

namespace thinpipe {

/// Options of `ps:servers=2,partition=balanced,pull=same` or `twoshot:second=same`.
struct PushPullOptions {
  int servers = 1;  ///< of `twoshot`: as many as workers
  Partition partition = Partition::kBalanced;
  std::optional<Spec> pull;  ///< of what servers answer; else as it is pushed
  std::string pull_memory;   ///< its parameter `memory` instead of what it says; "" as it says
  bool colocated = false;    ///< every worker is a server (PushPullLayout)

  /// The compressor of a server's answers to payloads of this one. Answers are sent every time.
  /// @throws InputError where it has no such memory
  Spec pull_of(const Spec& push) const;
};

/// Whether a compressor clips gradients, which it does by the norm of the whole tensor.
/// @throws InputError as check_spec.
bool clips(const Spec& spec);

/// The options of a pattern that can push and pull, among so many workers. @throws InputError as
/// check_pattern.
PushPullOptions push_pull_options(const Spec& pattern, int workers);

}  // namespace thinpipe
