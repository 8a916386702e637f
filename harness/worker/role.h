// A rank's part in one point of a sweep.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "compressors/spec.h"
#include "workloads/replay/rank_buckets.h"

namespace thinpipe {

/// Settings of a point's ranks. The communicator's last ranks are parameter servers, if the
/// collective has any.
struct RoleSettings {
  ReplayOptions options;
  Spec collective;
  int rank = 0;
  int workers = 1;          ///< ranks that compute; they come first
  std::uint64_t steps = 0;  ///< of the point
  std::string scratch;      ///< folder where ranks share memory; "" on a machine of its own

  bool is_worker() const { return rank < workers; }
  /// Returns whether no other rank shares this machine.
  bool alone() const { return scratch.empty(); }
};

/// Answers the sweep's messages of a point (harness/launch/launch.h).
class Role {
 public:
  virtual ~Role() = default;
  /// Returns the fields with which a rank of this role answers `prepare`.
  virtual nlohmann::json prepared() const = 0;
  /// Answers one message; null for one that the role does not know.
  virtual nlohmann::json answer(const nlohmann::json& message) = 0;
};

}  // namespace thinpipe
