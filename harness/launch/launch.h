// Starts ranks under Open MPI, one on each machine, and exchanges control messages with them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "harness/launch/control_socket.h"
#include "harness/launch/machines.h"

namespace thinpipe {

/// Open MPI's names of the transports that ranks may use. Shared memory is not among them, because
/// it would bypass the links.
inline constexpr const char* kTransports = "tcp,self";

/// Returns mpirun with its options for one rank on each of the first `ranks` machines. The ranks'
/// program is to follow. @throws RunError when mpirun is not installed
std::vector<std::string> mpirun_command(const Boarding& boarding, int ranks);

/// Returns the s in which `ranks` ranks must have started and connected to each other.
/// @param round_trip  s of the longest one between their hosts
double start_timeout(int ranks, double round_trip);

/// s in which ranks must have read a trace or data and made their compressors.
inline constexpr double kPrepareTimeout = 300;

/// A running `mpirun` with one thinpipe-worker on each machine. The destructor ends mpirun and the
/// workers. In the first process of a sandbox, it ends every other process of the sandbox. In any
/// other process, it ends mpirun, which ends its ranks.
///
/// Messages to a worker have a field `do`, answers a field `type`:
///   prepare {trace, plugins, compressor, seed, compute_scale, compute_works, stragglers,
///            non_finite, collective, threads, simd, steps} -> prepared {trace}: the identity of
///            the rank's trace
///   stream {settle, seconds}-> streamed {goodput}: all ranks at the same time, round the ring
///   probe {bytes, pause}    -> probed {small, large}: all-gathers round the ring, ring_probe.h
///   load {index}            -> loaded {}: draws the step's gradients, where no file has them
///   step {index}            -> stepped {times, bytes, ...}
///   account {index, check}  -> accounted {relative_error}; after all ranks have stepped
///   compare                 -> compared {error, digest}; after all ranks have accounted with check
///   quit                    -> the worker ends
/// Ranks that share no memory add `projections` (harness/worker/reference.h) to accounted, with
/// check, and to compared, which then has `largest` instead of error.
/// A worker may answer any message by error {message} instead.
class Launch {
 public:
  /// Starts ranks 0 to ranks-1 on the first machines and waits until all have reported.
  /// @param scratch  a folder of this machine for mpirun's output
  /// @param program  of each rank: a Worker (harness/worker/worker.h)
  /// @throws RunError with mpirun's output when a rank does not report, or has a different version.
  Launch(Machines& machines, const std::string& scratch, int ranks,
         const char* program = "thinpipe-worker");
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  int ranks() const { return static_cast<int>(workers_.size()); }
  /// Returns "rank 1", or "rank 1 (host node2)" where ranks have machines of their own.
  std::string rank_name(std::size_t rank) const;
  const std::string& mpi_version() const { return mpi_version_; }
  /// Returns the congestion control of the ranks' sockets, as a rank reported it.
  const std::string& congestion_control() const { return congestion_control_; }
  /// Returns each rank's description of its machine; empty where ranks share this machine.
  const std::vector<nlohmann::json>& rank_machines() const { return rank_machines_; }
  /// Returns the smallest path MTU of the connections between ranks on machines of their own, in
  /// bytes; 0 where it is unknown.
  std::uint32_t path_mtu() const;

  /// Sends a message to every rank, waits for one answer of each, and returns the answers by rank.
  /// @throws WorkerRefusal when all answered, some with an error (the ranks live on);
  /// @throws NoAnswer when a rank does not answer within `seconds`;
  /// @throws RunError when a rank has ended, or a stop was requested.
  /// @param grace  s that the ranks still have after a stop was requested
  std::vector<nlohmann::json> ask(const nlohmann::json& message, double seconds, double grace = 0);

  /// Ends the ranks in good order, by force if they take too long.
  void quit();

 private:
  void start(Machines& machines, int ranks, const char* program);
  void accept_workers(int ranks, double timeout);
  void welcome(MessageSocket worker);
  void end_all();
  void end_mpirun();
  bool mpirun_ended();
  /// Fails because a rank closed its connection. Names the signal that killed it, if mpirun does.
  [[noreturn]] void fail_of_ended(std::size_t rank);
  nlohmann::json receive_from(std::size_t rank);
  [[noreturn]] void fail(const std::string& what);
  /// Fails as a rank's connection broke: the rank ended, or its machine vanished.
  [[noreturn]] void fail_to_reach(std::size_t rank, const SystemError& error);
  [[noreturn]] void fail_to_start(const std::string& what, int ranks);

  std::string scratch_;
  MessageSocket listener_;           // for ranks that share a folder
  std::optional<ControlDoor> door_;  // for other ranks
  std::vector<MessageSocket> workers_;
  std::vector<std::string> hosts_;  // names of the ranks' machines, by rank, as in Boarding
  std::string mpi_version_, congestion_control_;
  std::vector<nlohmann::json> rank_machines_;
  bool in_sandbox_ = false;  // all processes of this PID namespace are the launch's
  pid_t mpirun_ = -1;
  int mpirun_status_ = 0;  // as from waitpid(), after its end
};

/// A rank refused a message and is ready for other work.
class WorkerRefusal : public RunError {
 public:
  using RunError::RunError;
};

/// Ranks did not answer in time, although none of them is known to have ended.
class NoAnswer : public RunError {
 public:
  using RunError::RunError;
};

}  // namespace thinpipe
