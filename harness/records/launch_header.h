// The first record of a launch, as far as all verbs that measure have it in common.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/fingerprint/fingerprint.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// What was asked for.
struct Launched {
  std::string kind;                  ///< kRunKind and its like
  std::vector<std::string> command;  ///< {"thinpipe", "run", ...}
  std::uint64_t seed = 1;
  int threads = 1;  ///< that one encode or decode may use, at most
};

/// ISO 8601, UTC.
std::string created_now();

/// A header of docs/records.md: made now, by this build, on this machine. @param trace  null: none
nlohmann::json launch_header(const Launched& launched, const Trace* trace,
                             const NetworkState& network = {});

}  // namespace thinpipe
