// The role of a rank that replays a trace: steps, and checks of their results.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "harness/worker/reference.h"
#include "harness/worker/role.h"
#include "workloads/replay/replay.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

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
  bool exchanged_ = false;                         ///< in the last step
  bool followed_ = false;                          ///< by follow_outer()
  std::optional<OuterReference> outer_reference_;  ///< with an outer optimiser
};

}  // namespace thinpipe
