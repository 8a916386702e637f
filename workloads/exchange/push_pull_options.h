// The parameters of the pattern `ps`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compressors/registry.h"
#include "workloads/exchange/exchange_units.h"

namespace thinpipe {

/// What `ps:servers=2,partition=balanced,pull=same` says.
struct PushPullOptions {
  int servers = 1;
  Partition partition = Partition::kBalanced;
  std::optional<Spec> pull;  ///< of what servers answer; else as it is pushed

  /// The compressor of what a server answers to payloads of this one.
  const Spec& pull_of(const Spec& push) const { return pull ? *pull : push; }
};

std::vector<ParameterInfo> push_pull_parameters();

PushPullOptions push_pull_options(const Parameters& parameters);
/// @throws InputError as check_pattern.
PushPullOptions push_pull_options(const Spec& pattern);

/// Why servers cannot answer payloads of this compressor; "" where they can. Second moments are the
/// workers'; a delay is that of the push alone.
std::string why_not_pulled(const Parameters& parameters, const Spec& push);

}  // namespace thinpipe
