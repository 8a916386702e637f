// One rank: what the sweep asks of it over the control socket, and what it answers.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compressors/cuda/rank_device.h"
#include "harness/launch/control_socket.h"
#include "harness/worker/reference.h"
#include "harness/worker/server_role.h"
#include "harness/worker/sockets.h"
#include "workloads/replay/replay.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Replays traces. Others derive from it to step on gradients of their own.
class Worker {
 public:
  /// Says hello. @param scratch  where ranks share memory; "" on a machine of its own
  Worker(MessageSocket socket, std::string scratch);
  virtual ~Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Answers messages (harness/launch/launch.h) until it is told to quit, or the sweep is gone.
  void serve();

 protected:
  /// Answers one message; null for one that it does not know. Exceptions are answered as errors.
  virtual nlohmann::json answer(const nlohmann::json& message);
  /// Gradients that the point of a `prepare` message steps on. They stay until the next one.
  virtual const Trace& gradients_of(const nlohmann::json& message);

  int rank() const { return rank_; }
  /// A worker's; null in a parameter server.
  Replay* replay() { return replay_.get(); }
  /// A parameter server's; else null.
  ServerRole* server() { return server_.get(); }
  /// Advances the outer optimiser's reference by the last step's exchange, if any; once, whoever
  /// asks for it first.
  void follow_outer();
  bool exchanged() const { return exchanged_; }

 private:
  // On a machine that no other rank shares.
  bool alone() const { return scratch_.empty(); }

  nlohmann::json prepare(const nlohmann::json& message);
  RankDevice open_device() const;
  nlohmann::json describe_device() const;
  void prepare_worker(const Spec& pattern, const ReplayOptions& options, int workers,
                      std::uint64_t steps);
  nlohmann::json load(const nlohmann::json& message);
  nlohmann::json step(const nlohmann::json& message);
  nlohmann::json account(const nlohmann::json& message);
  std::vector<std::vector<float>> contribution_pieces() const;
  nlohmann::json compare();
  nlohmann::json stream(const nlohmann::json& message);
  nlohmann::json probe(const nlohmann::json& message);

  MessageSocket socket_;
  std::string scratch_;
  int rank_ = 0, ranks_ = 1;
  std::unique_ptr<Trace> own_trace_;                    ///< that was opened here
  const Trace* trace_ = nullptr;                        ///< of the point
  std::unique_ptr<Replay> replay_;                      ///< of a worker
  std::unique_ptr<ServerRole> server_;                  ///< of a parameter server
  std::unique_ptr<SharedContributions> contributions_;  ///< of ranks that share memory
  std::vector<float> contribution_;                     ///< this rank's, where they do not
  std::vector<float> reference_;                        ///< where that is not a mean of them
  std::uint64_t checked_step_ = 0;
  bool exchanged_ = false;                         ///< in the last step
  bool followed_ = false;                          ///< what was
  std::optional<OuterReference> outer_reference_;  ///< where there is an outer optimiser
  std::optional<ControlWatch> watch_;
};

/// The whole of a rank's program NAME CONTROL [SCRATCH]. CONTROL is a path where ranks are on
/// emulated hosts, which share memory in SCRATCH, and tcp:... where they are on machines of their
/// own. @returns its exit code
using MakeWorker = std::function<std::unique_ptr<Worker>(MessageSocket, std::string scratch)>;
int worker_program(const char* name, int argc, char** argv, const MakeWorker& make);

}  // namespace thinpipe
