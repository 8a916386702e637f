// A rank's part in one point of a sweep: it replays a trace, or is a parameter server.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compressors/spec.h"
#include "harness/worker/reference.h"
#include "harness/worker/step_answer.h"
#include "workloads/collectives/mpi_collectives.h"
#include "workloads/replay/parameter_server.h"
#include "workloads/replay/rank_buckets.h"
#include "workloads/replay/replay.h"
#include "workloads/trace/trace.h"

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

/// Replays a trace: steps, and checks of their results.
class ReplayRole : public Role {
 public:
  /// @param trace  must outlive this
  ReplayRole(const Trace& trace, const RoleSettings& settings);

  nlohmann::json prepared() const override;
  nlohmann::json answer(const nlohmann::json& message) override;

 protected:
  nlohmann::json load(const nlohmann::json& message);
  Replay& replay() { return replay_; }
  const RoleSettings& settings() const { return settings_; }
  /// Advances the outer optimiser's reference by the last step's exchange, if any; once.
  void follow_outer();
  /// Returns whether the last step exchanged anything.
  bool exchanged() const { return exchanged_; }

 private:
  void connect();
  nlohmann::json step(const nlohmann::json& message);
  nlohmann::json account(const nlohmann::json& message);
  nlohmann::json compare();
  nlohmann::json compare_with_servers();
  nlohmann::json compare_projections() const;
  nlohmann::json compare_with_reference();
  std::vector<std::vector<float>> contribution_pieces() const;

  RoleSettings settings_;
  Replay replay_;
  std::unique_ptr<SharedContributions> contributions_;  ///< of ranks that share memory
  std::vector<float> contribution_;                     ///< this rank's, on a machine of its own
  std::vector<float> reference_;                        ///< where the result is not their mean
  std::uint64_t checked_step_ = 0;
  std::uint64_t last_step_ = 0;
  bool exchanged_ = false;                         ///< in the last step
  bool followed_ = false;                          ///< by follow_outer()
  std::optional<OuterReference> outer_reference_;  ///< with an outer optimiser
};

/// A parameter server.
class ServerRole : public Role {
 public:
  ServerRole(const Trace& trace, const RoleSettings& settings);

  nlohmann::json prepared() const override;
  nlohmann::json answer(const nlohmann::json& message) override;

 protected:
  UnitAverager& averager() { return server_.averager(); }

 private:
  ServerStep step(std::uint64_t index, bool moves);
  nlohmann::json account(std::uint64_t index);
  nlohmann::json compare();

  MpiTransport transport_;
  int index_;  ///< among the servers
  ParameterServer server_;
  std::unique_ptr<SharedContributions> contributions_;  ///< of workers that share memory
  std::uint64_t checked_step_ = 0;
};

}  // namespace thinpipe
