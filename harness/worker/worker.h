// One rank, which answers the sweep's requests over the control socket.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <thread>

#include "compressors/cuda/rank_device.h"
#include "harness/launch/control_socket.h"
#include "harness/worker/role.h"
#include "netem/file_descriptor.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Ends this rank if the sweep ends while the rank waits for its peers. A rank in an exchange reads
/// no message, and its peers may have ended as well. So a thread watches a connection to the sweep
/// and calls _exit() when the other side closes it or ends. The destructor ends the watch.
class ControlWatch {
 public:
  explicit ControlWatch(int connection);
  ~ControlWatch();
  ControlWatch(const ControlWatch&) = delete;
  ControlWatch& operator=(const ControlWatch&) = delete;

 private:
  FileDescriptor wake_;
  std::thread thread_;
};

/// Answers the sweep's messages in one rank. The point's Role answers the messages about a point.
/// Derived classes give ranks other roles.
class Worker {
 public:
  /// Sends hello. @param scratch  folder where ranks share memory; "" on a machine of its own
  Worker(MessageSocket socket, std::string scratch);
  virtual ~Worker() = default;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Answers messages (harness/launch/launch.h) until `quit`, or until the sweep ends.
  void serve();

 protected:
  /// Makes this rank's role in the point of a `prepare` message. @throws InputError
  virtual std::unique_ptr<Role> make_role(const RoleSettings& settings,
                                          const nlohmann::json& message);
  /// Returns the trace of the role, for its identity.
  virtual const Trace& trace() const { return *trace_; }
  int rank() const { return rank_; }

 private:
  bool alone() const { return scratch_.empty(); }
  nlohmann::json answer(const nlohmann::json& message);
  nlohmann::json prepare(const nlohmann::json& message);
  RoleSettings settings_of(const nlohmann::json& message) const;
  RankDevice open_device() const;
  nlohmann::json describe_device() const;
  nlohmann::json stream(const nlohmann::json& message);
  nlohmann::json probe(const nlohmann::json& message);

  MessageSocket socket_;
  std::string scratch_;
  int rank_ = 0, ranks_ = 1;
  std::unique_ptr<Trace> trace_;  ///< opened last
  bool needs_device_ = true;      ///< false in a prepared parameter server
  std::unique_ptr<Role> role_;    ///< in the point that was prepared last
  std::optional<ControlWatch> watch_;
};

/// Runs a rank's program NAME CONTROL [SCRATCH]. CONTROL is a path for ranks on emulated hosts,
/// which share memory in SCRATCH, and tcp:... for ranks on machines of their own. @returns the exit
/// code
using MakeWorker = std::function<std::unique_ptr<Worker>(MessageSocket, std::string scratch)>;
int worker_program(const char* name, int argc, char** argv, const MakeWorker& make);

}  // namespace thinpipe
