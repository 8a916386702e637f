// A cluster in SimGrid's simulated time: hosts, links, and a transport for each rank. A process can
// make one cluster, because SimGrid has one engine.
//
// SimGrid simulates connections: each pair of ranks has one in each direction, as TCP has, on which
// messages pass one after the other. Connections share links by max-min fairness, without packets,
// queues, or losses. A message arrives its path's delay after its last byte left.
//
// simulate() takes the steps of all ranks on such a cluster. Compute and codecs only take their
// time. Exchanges run the code of workloads/collectives over the simulated transport.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "workloads/collectives/transport.h"
#include "workloads/simulate/work.h"

namespace thinpipe {

/// Bytes of a message that reach the receiver. Its length always does, and so do its first bytes,
/// where collectives have their lengths.
enum class Contents { kWhole, kHead };

/// The hosts' ranks, their connections, and the programs that run in simulated time.
class SimulatedCluster {
 public:
  class Impl;

  explicit SimulatedCluster(SimulatedNetwork network);
  ~SimulatedCluster();
  SimulatedCluster(const SimulatedCluster&) = delete;
  SimulatedCluster& operator=(const SimulatedCluster&) = delete;

  /// Returns the transport of a rank, which must not outlive the cluster. One program at a time may
  /// use it. Its pause() waits until a message of the rank arrives or has left, or for a while.
  std::unique_ptr<Transport> transport(int rank, Contents contents);
  /// Adds a program that run() starts on this host.
  void add(int host, std::function<void()> program);
  /// Runs all programs to their ends. @throws what a program throws, or RunError where programs
  /// wait for each other without end
  void run();
  /// Returns the time after which every link has its whole credit again, in s.
  double refill_time() const;
  /// Returns the s for which the busiest link, at its rate, carries the bytes of all messages that
  /// were sent since the last call.
  double take_carried();

 private:
  std::unique_ptr<Impl> impl_;
};

/// Simulates the steps. Ranks begin each step at the same moment, on links with their whole credit.
/// Call it once in a process. @throws InputError as why_not_simulated(), RunError
SimulatedSteps simulate(SimulatedNetwork network, const SimulatedWork& work);

// For programs.

/// Returns the simulated time in s.
double simulated_now();
/// Waits, in simulated time. Does nothing if the time has passed already.
void simulate_until(double moment);
void simulate_for(double seconds);

/// Returns the version of SimGrid, such as "3.32".
std::string simgrid_version();

}  // namespace thinpipe
