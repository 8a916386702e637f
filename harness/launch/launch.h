// Ranks under Open MPI, one on each machine, and the conversation with them.
#pragma once

#include <sys/types.h>

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "harness/launch/control_socket.h"
#include "harness/launch/machines.h"

namespace thinpipe {

/// The transports that ranks may use, by Open MPI's names: no shared memory, which would go round
/// the links.
inline constexpr const char* kTransports = "tcp,self";

/// s for ranks to read a trace or data and make what they need.
inline constexpr double kPreparePatience = 300;

/// A running `mpirun` with one thinpipe-worker a machine. Its destructor ends them: in a sandbox's
/// first process every other process there, else mpirun, which ends what it started.
///
/// Messages to a worker have a field `do`, answers a field `type`:
///   prepare {trace, plugins, compressor, seed, compute_scale, stragglers, non_finite, pattern,
///   threads, simd,
///            steps} -> prepared {trace}: the identity of the one it has
///   stream {settle, seconds}-> streamed {goodput}: all ranks at once, round the ring
///   probe {bytes, pause}    -> probed {small, large}: all-gathers round the ring, ring_probe.h
///   load {index}            -> loaded {}: the step's gradients, where no file holds them
///   step {index}            -> stepped {times, bytes, ...}
///   account {index, check}  -> accounted {relative_error}; after all ranks have stepped
///   compare                 -> compared {error, digest}; after all ranks have accounted with check
/// Ranks that share no memory say `projections` (harness/worker/reference.h) with check and in
/// compared, and there `largest` instead of error.
///   quit                    -> the worker ends
/// Any of them may be answered by error {message} instead.
class Launch {
 public:
  /// Starts ranks 0 to ranks-1 on the first machines and waits until all have reported.
  /// @param scratch  a folder of this machine for what mpirun prints
  /// @param program  of each rank: a Worker (harness/worker/worker.h)
  /// @throws RunError with what mpirun printed when they do not, or are not of this version.
  Launch(Machines& machines, const std::string& scratch, int ranks,
         const char* program = "thinpipe-worker");
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  int ranks() const { return static_cast<int>(workers_.size()); }
  const std::string& mpi_version() const { return mpi_version_; }
  /// In force on the ranks' sockets, as the first rank found.
  const std::string& congestion_control() const { return congestion_control_; }
  /// Each rank's description of its own machine; empty where ranks share this one.
  const std::vector<nlohmann::json>& rank_machines() const { return rank_machines_; }

  /// Sends a message to every rank and waits for one answer of each, by rank.
  /// @throws WorkerRefusal when all answered but some with an error (the ranks live on);
  /// @throws NoAnswer when a rank does not answer within `seconds`;
  /// @throws RunError when a rank is gone, or a stop was asked.
  /// @param grace  s that the ranks are given once a stop was asked for
  std::vector<nlohmann::json> ask(const nlohmann::json& message, double seconds, double grace = 0);

  /// Ends the ranks in good order, by force if they take too long.
  void quit();

 private:
  void start(Machines& machines, int ranks, const char* program);
  void accept_workers(int ranks);
  void welcome(MessageSocket worker);
  void end_all();
  void end_mpirun();
  bool mpirun_ended();
  [[noreturn]] void fail(const std::string& what);
  [[noreturn]] void fail_to_start(const std::string& what, int ranks);

  std::string scratch_;
  MessageSocket listener_;           // where ranks share a folder
  std::optional<ControlDoor> door_;  // else
  std::vector<MessageSocket> workers_;
  std::string mpi_version_, congestion_control_;
  std::vector<nlohmann::json> rank_machines_;
  bool in_sandbox_ = false;  // all processes of this PID namespace are the launch's
  pid_t mpirun_ = -1;
};

/// A rank answered that it cannot do what it was asked to; it is ready for other work.
class WorkerRefusal : public RunError {
 public:
  using RunError::RunError;
};

/// Ranks live, as far as one knows, and say nothing: what they wait for does not come.
class NoAnswer : public RunError {
 public:
  using RunError::RunError;
};

}  // namespace thinpipe
