// The role of a rank that is a parameter server.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/worker/reference.h"
#include "harness/worker/role.h"
#include "harness/worker/step_answer.h"
#include "workloads/collectives/mpi_collectives.h"
#include "workloads/replay/parameter_server.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

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

/// Returns a rank's report on the units that it averages. `delta` is the digest of the values that
/// workers must have decoded. On a shared machine the report also has the error of the rank's means
/// relative to the contributions. On a machine of its own it has the means' projections instead.
/// @param contributions  of workers that share memory; else null
/// @param index  among the ranks that average
nlohmann::json compared_averages(const UnitAverager& averager, int index, std::uint64_t step,
                                 SharedContributions* contributions);

/// Returns the seed of the projections of one piece in one step.
inline std::uint64_t projection_seed(std::uint64_t step, std::size_t piece) {
  return step * 1000003 + piece;
}

}  // namespace thinpipe
