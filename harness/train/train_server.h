// A parameter server of a training job.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>

#include "harness/worker/server_role.h"
#include "workloads/training/learner.h"
#include "workloads/training/server_model.h"

namespace thinpipe {

/// Answers save and restore with its own state, and only acknowledges those messages of TrainRole
/// that concern the worker's model.
class TrainServer : public ServerRole, private UnitUpdate {
 public:
  TrainServer(const Trace& trace, const RoleSettings& settings, const LearnerOptions& learner);
  nlohmann::json answer(const nlohmann::json& message) override;

 private:
  void change_of(std::size_t unit, std::span<const float> mean, std::uint64_t step,
                 std::span<float> change) override {
    model_->update(unit, mean, step, change);
  }
  nlohmann::json load(const nlohmann::json& message);
  nlohmann::json save(const nlohmann::json& message);
  nlohmann::json restore(const nlohmann::json& message);

  int rank_;
  std::unique_ptr<ServerModel> model_;  ///< of this server's units, with update=servers; else null
};

}  // namespace thinpipe
