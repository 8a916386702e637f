#include "netem/verify/measure_flows.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "netem/sandbox.h"
#include "netem/verify/datagrams.h"
#include "netem/verify/sockets.h"

namespace thinpipe {
namespace {

/// Keeps all CPUs busy with one SCHED_IDLE thread each, which yields to everything else. A virtual
/// machine whose CPUs are all idle may be woken late. TCP over several links was then measured at 3
/// to 9 % below its ceiling, an effect of the machine rather than of the network's settings.
class Awake {
 public:
  Awake() {
    for (unsigned i = 0; i < std::max(std::thread::hardware_concurrency(), 1U); ++i)
      threads_.emplace_back([](const std::stop_token& stop) {
        const sched_param none = {};
        sched_setscheduler(0, SCHED_IDLE, &none);
        while (!stop.stop_requested()) {
        }
      });
  }

  /// Returns the CPU time of the threads so far in s, which is otherwise idle time.
  double seconds() {
    double sum = 0;
    for (std::jthread& thread : threads_)
      if (clockid_t clock; pthread_getcpuclockid(thread.native_handle(), &clock) == 0)
        sum += now_seconds(clock);
    return sum;
  }

 private:
  std::vector<std::jthread> threads_;
};

using Clock = std::chrono::steady_clock;

constexpr double kConnectSeconds = 10;
constexpr double kDrainSeconds = 30;  // s to drain, beyond the time of buffers and queues
constexpr int kFlowPollMilliseconds = 100;

// Makes close() send a reset and drop the sender's buffer.
void reset_on_close(const FileDescriptor& sender) {
  const linger at_once = {1, 0};
  if (setsockopt(sender.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) != 0)
    throw SystemError("set SO_LINGER of a flow");
}

struct Connection {
  SocketPair pair;
  double received = 0, before = 0;  // bytes in total, and at the start of the measurement
  double acks_before = 0;
  bool ended = false;
};

int buffer_for(const PathFigures& path) {
  return static_cast<int>(std::clamp(path.rate / 8 * 0.3, 65536.0, 4e6));
}

// Returns the time to drain all senders (the kernel grants twice the buffer) and queues.
double drain_seconds(const Network& network, const std::vector<Flow>& flows) {
  double seconds = kDrainSeconds;
  for (const Flow& flow : flows) {
    const PathFigures path = network.figures(flow);
    if (path.rate > 0) seconds += (2 * buffer_for(path) + path.queue) * 8 / path.rate;
  }
  return seconds;
}

// Returns twice the RTT by the links' delays, in s. Timeouts need it beyond a fixed time.
double two_round_trips(const Network& network, const Flow& flow) {
  return 2 * round_trip_of(network.topology(), network.routes(), flow);
}

Connection connect_flow(const Network& network, const Flow& flow) {
  // The send buffer is large enough to keep the path busy while this process waits for a CPU. It is
  // small enough to avoid seconds of draining at the end. On a path with delay the kernel tunes the
  // buffer.
  const PathFigures path = network.figures(flow);
  Connection result;
  result.pair = stream_pair(network, flow, path.delay == 0 ? buffer_for(path) : 0,
                            kConnectSeconds + two_round_trips(network, flow));
  return result;
}

class Traffic {
 public:
  explicit Traffic(std::vector<Connection>& connections)
      : connections_(connections), block_(1 << 20) {}

  // Moves data for `seconds` s or, after stop_sending(), until all data has arrived.
  void run(double seconds, bool sending) {
    const auto begin = Clock::now();
    while (seconds_since(begin) < seconds && (sending || !all_ended())) {
      if (stop_requested()) throw RunError("interrupted");
      wait(sending);
      for (std::size_t i = 0; i < connections_.size(); ++i) {
        if (waiting_[2 * i].revents != 0) receive(connections_[i]);
        if (waiting_[2 * i + 1].revents != 0) send_some(connections_[i]);
      }
    }
    if (!sending && !all_ended())
      throw RunError(fmt::format("the sent data did not arrive within {} s", seconds));
  }

  void stop_sending() {
    for (Connection& connection : connections_) shutdown(connection.pair.sender.get(), SHUT_WR);
  }

 private:
  void wait(bool sending) {
    waiting_.clear();
    for (const Connection& connection : connections_) {
      waiting_.push_back({connection.ended ? -1 : connection.pair.receiver.get(), POLLIN, 0});
      waiting_.push_back({sending ? connection.pair.sender.get() : -1, POLLOUT, 0});
    }
    poll(waiting_.data(), waiting_.size(), kFlowPollMilliseconds);
  }

  void receive(Connection& connection) {
    const ssize_t got =
        recv(connection.pair.receiver.get(), block_.data(), block_.size(), MSG_DONTWAIT);
    if (got > 0) connection.received += static_cast<double>(got);
    if (got == 0) connection.ended = true;
    if (got < 0 && errno != EAGAIN) throw SystemError("receive over the emulated network");
  }

  void send_some(Connection& connection) {
    constexpr std::size_t kBlock = std::size_t{64} * 1024;
    if (send(connection.pair.sender.get(), block_.data(), kBlock, MSG_DONTWAIT | MSG_NOSIGNAL) <
            0 &&
        errno != EAGAIN)
      throw SystemError("send over the emulated network");
  }

  bool all_ended() const {
    return std::all_of(connections_.begin(), connections_.end(),
                       [](const Connection& connection) { return connection.ended; });
  }

  std::vector<Connection>& connections_;
  std::vector<pollfd> waiting_;
  std::vector<char> block_;
};

}  // namespace

MeasuredFlows measure_flows(const Network& network, const std::vector<Flow>& flows,
                            const FlowOptions& options) {
  std::vector<Connection> connections;
  for (const Flow& flow : flows) connections.push_back(connect_flow(network, flow));
  std::optional<Awake> awake;
  if (options.awake) awake.emplace();
  const auto spare = [&] { return awake ? awake->seconds() : 0.0; };
  Traffic traffic(connections);
  // Watched too, since a disturbed slow start affects the measurement after it.
  MachineWatch settling;
  traffic.run(options.settle, true);
  const Disturbance before_measured = settling.stop(spare());
  for (Connection& connection : connections) {
    connection.before = connection.received;
    connection.acks_before = acks_sent(connection.pair.receiver);
  }
  MachineWatch watch;
  const double spare_before = spare();
  const auto begin = Clock::now();
  std::vector<std::vector<double>> windows(connections.size());
  for (int window = 0; window < options.windows; ++window) {
    std::vector<double> before;
    for (const Connection& connection : connections) before.push_back(connection.received);
    const auto window_begin = Clock::now();
    traffic.run(options.seconds / options.windows, true);
    const double window_seconds = seconds_since(window_begin);
    for (std::size_t i = 0; i < connections.size(); ++i)
      windows[i].push_back((connections[i].received - before[i]) * 8 / window_seconds);
  }
  const double seconds = seconds_since(begin);
  MeasuredFlows found{{}, worse_of(before_measured, watch.stop(spare() - spare_before))};
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const Connection& one = connections[i];
    found.machine.repeated = std::max(found.machine.repeated, repeated_share(one.pair.sender));
    found.flows.push_back({(one.received - one.before) * 8 / seconds, 0,
                           (acks_sent(one.pair.receiver) - one.acks_before) / seconds,
                           std::move(windows[i])});
  }
  if (!options.drain) {
    for (const Connection& connection : connections) reset_on_close(connection.pair.sender);
    return found;
  }
  traffic.stop_sending();
  traffic.run(drain_seconds(network, flows), false);
  for (std::size_t i = 0; i < flows.size(); ++i) found.flows[i].payload = connections[i].received;
  return found;
}

double measure_round_trip(const Network& network, const Flow& flow, int count) {
  RoundTripOptions options;
  options.count = count;
  options.timeout = 1 + two_round_trips(network, flow);
  const RoundTrips trips = measure_round_trips(network, flow, options);
  if (2 * trips.lost > count)
    throw RunError(fmt::format("{} of {} round-trip datagrams between {} and {} were lost",
                               trips.lost, count, network.host(flow.from).name(),
                               network.host(flow.to).name()));
  return trips.median;
}

}  // namespace thinpipe
