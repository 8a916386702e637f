// Ranks under Open MPI, one on each emulated host, and the conversation with them.
#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "harness/launch/message_socket.h"
#include "netem/sandbox.h"
#include "netem/network.h"

namespace thinpipe {

/// A running `mpirun` with one thinpipe-worker a host. Lives in the sandbox's first process; its
/// destructor ends every other process of the sandbox.
///
/// Messages to a worker have a field `do`, answers a field `type`:
///   prepare {trace, plugins, compressor, seed, compute_scale, non_finite, pattern, threads, simd,
///            steps} -> prepared
///   step {index}            -> stepped {times, bytes, ...}
///   account {index, check}  -> accounted {relative_error}; after all ranks have stepped
///   compare                 -> compared {error, digest}; after all ranks have accounted with check
///   quit                    -> the worker ends
/// Any of them may be answered by error {message} instead.
class Launch {
 public:
  /// Starts ranks 0 to ranks-1 on the network's first hosts and waits until all have reported.
  /// @throws RunError with what mpirun printed when they do not.
  Launch(const Network& network, const Sandbox& sandbox, int ranks);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  int ranks() const { return static_cast<int>(workers_.size()); }
  const std::string& mpi_version() const { return mpi_version_; }
  /// In force on the ranks' sockets, as the first rank found.
  const std::string& congestion_control() const { return congestion_control_; }

  /// Sends a message to every rank and waits for one answer of each, by rank.
  /// @throws WorkerRefusal when all answered but some with an error (the ranks live on);
  /// @throws RunError when a rank is gone, or does not answer within `seconds`, or a stop was
  /// asked.
  std::vector<nlohmann::json> ask(const nlohmann::json& message, double seconds);

  /// Ends the ranks in good order, by force if they take too long.
  void quit();

 private:
  void start(const Network& network, int ranks);
  void accept_workers(int ranks);
  void end_all();
  bool mpirun_ended();
  [[noreturn]] void fail(const std::string& what);

  std::string scratch_;
  MessageSocket listener_;
  std::vector<MessageSocket> workers_;
  std::string mpi_version_, congestion_control_;
  pid_t mpirun_ = -1;
};

/// A rank answered that it cannot do what it was asked to; it is ready for other work.
class WorkerRefusal : public RunError {
 public:
  using RunError::RunError;
};

}  // namespace thinpipe
