// Role of a rank that is a parameter server: a worker's messages, answered otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "harness/worker/reference.h"
#include "harness/worker/step_answer.h"
#include "workloads/exchange/mpi_patterns.h"
#include "workloads/replay/parameter_server.h"
#include "workloads/replay/replay.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

class ServerRole {
 public:
  /// The communicator's last `options.servers` ranks are servers; this is one.
  /// @param scratch  where ranks share memory; "" on a machine of its own
  ServerRole(const Trace& trace, const ReplayOptions& options, const std::string& scratch);

  ServerStep step(std::uint64_t index, bool moves);
  /// Answers to account and compare (harness/launch/launch.h).
  nlohmann::json account(std::uint64_t index);
  nlohmann::json compare();

  /// As UnitAverager has them.
  void save_state(std::vector<std::byte>& state) const { server_.averager().save_state(state); }
  void load_state(ByteReader& state) { server_.averager().load_state(state); }

 private:
  MpiTransport transport_;
  int index_;  ///< among the servers
  ParameterServer server_;
  std::unique_ptr<SharedContributions> contributions_;  ///< of workers that share memory
  std::uint64_t checked_step_ = 0;
};

/// A rank's account of the units that it averages: `delta`, the digest of what workers must have
/// decoded; and how far its means are from what workers pushed, or, on a machine of its own, their
/// projections.
/// @param contributions  of workers that share memory; else null @param index  among who averages
nlohmann::json compared_averages(const UnitAverager& averager, int index, std::uint64_t step,
                                 SharedContributions* contributions);

/// Seed of the projections of one piece in one step.
inline std::uint64_t projection_seed(std::uint64_t step, std::size_t piece) {
  return step * 1000003 + piece;
}

}  // namespace thinpipe
