#include "netem/measure_flows.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/file_descriptor.h"
#include "netem/sandbox.h"
#include "netem/topology/flows.h"

namespace thinpipe {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kConnectSeconds = 10;
constexpr double kDrainSeconds = 30;  // of what was sent when the time was up, and what it takes
constexpr int kPollMilliseconds = 100;

double since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

sockaddr_in address_of(const std::string& ip, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, ip.c_str(), &address.sin_addr);
  return address;
}

void limit_wait(const FileDescriptor& socket, double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const timeval wait = {whole,
                        static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6)};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
}

FileDescriptor bound_socket(int type, const std::string& ip) {
  FileDescriptor result(socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const sockaddr_in address = address_of(ip, 0);
  // Where the kernel has it, whatever the namespace's default is.
  if (type == SOCK_STREAM)
    setsockopt(result.get(), IPPROTO_TCP, TCP_CONGESTION, "cubic", std::strlen("cubic"));
  if (!result.valid() ||
      bind(result.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw SystemError("bind a socket to " + ip);
  limit_wait(result, kConnectSeconds);
  return result;
}

void connect_to(const FileDescriptor& from, const FileDescriptor& to) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  if (getsockname(to.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      connect(from.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0)
    throw SystemError("connect two hosts of the emulated network");
}

struct Connection {
  FileDescriptor sender, receiver;
  double received = 0, before = 0;  // bytes in all; and when the measured time began
  bool ended = false;
};

int buffer_for(const PathFigures& path) {
  return static_cast<int>(std::clamp(path.rate / 8 * 0.3, 65536.0, 4e6));
}

// What may wait in the sender (the kernel grants twice the buffer) and in the queues, flow by flow.
double drain_seconds(const Network& network, const std::vector<Flow>& flows) {
  double seconds = kDrainSeconds;
  for (const Flow& flow : flows) {
    const PathFigures path =
        figures_of(network.topology(), network.routes().path(flow.from, flow.to));
    if (path.rate > 0) seconds += (2 * buffer_for(path) + path.queue) * 8 / path.rate;
  }
  return seconds;
}

// Sockets stay in the namespace they were made in, so one process can hold both ends.
Connection connect_flow(const Network& network, const Flow& flow) {
  Connection result;
  FileDescriptor listener;
  network.host(flow.to).inside([&] {
    listener = bound_socket(SOCK_STREAM, network.data_address(flow.to));
    if (listen(listener.get(), 1) != 0) throw SystemError("listen");
  });
  network.host(flow.from).inside([&] {
    result.sender = bound_socket(SOCK_STREAM, network.data_address(flow.from));
    // Enough to keep the path busy while this process waits for a processor, and not seconds of it
    // to drain at the end; a long path is left to the kernel's own tuning.
    const PathFigures path =
        figures_of(network.topology(), network.routes().path(flow.from, flow.to));
    const int buffer = buffer_for(path);
    if (path.delay == 0)
      setsockopt(result.sender.get(), SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
    connect_to(result.sender, listener);
  });
  result.receiver = FileDescriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!result.receiver.valid()) throw SystemError("accept");
  return result;
}

class Traffic {
 public:
  explicit Traffic(std::vector<Connection>& connections)
      : connections_(connections), block_(1 << 20) {}

  // Moves data until `seconds` are over or, once sending has stopped, all has arrived.
  void run(double seconds, bool sending) {
    const auto begin = Clock::now();
    while (since(begin) < seconds && (sending || !all_ended())) {
      if (stop_requested()) throw RunError("interrupted");
      wait(sending);
      for (std::size_t i = 0; i < connections_.size(); ++i) {
        if (waiting_[2 * i].revents != 0) receive(connections_[i]);
        if (waiting_[2 * i + 1].revents != 0) send_some(connections_[i]);
      }
    }
    if (!sending && !all_ended())
      throw RunError(fmt::format("what was sent did not arrive within {} s", seconds));
  }

  void stop_sending() {
    for (Connection& connection : connections_) shutdown(connection.sender.get(), SHUT_WR);
  }

 private:
  void wait(bool sending) {
    waiting_.clear();
    for (const Connection& connection : connections_) {
      waiting_.push_back({connection.ended ? -1 : connection.receiver.get(), POLLIN, 0});
      waiting_.push_back({sending ? connection.sender.get() : -1, POLLOUT, 0});
    }
    poll(waiting_.data(), waiting_.size(), kPollMilliseconds);
  }

  void receive(Connection& connection) {
    const ssize_t got = recv(connection.receiver.get(), block_.data(), block_.size(), MSG_DONTWAIT);
    if (got > 0) connection.received += static_cast<double>(got);
    if (got == 0) connection.ended = true;
    if (got < 0 && errno != EAGAIN) throw SystemError("receive over the emulated network");
  }

  void send_some(Connection& connection) {
    constexpr std::size_t kPiece = std::size_t{64} * 1024;
    if (send(connection.sender.get(), block_.data(), kPiece, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 &&
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

std::vector<FlowFigures> measure_flows(const Network& network, const std::vector<Flow>& flows,
                                       const FlowOptions& options) {
  std::vector<Connection> connections;
  for (const Flow& flow : flows) connections.push_back(connect_flow(network, flow));
  Traffic traffic(connections);
  traffic.run(options.settle, true);
  for (Connection& connection : connections) connection.before = connection.received;
  const auto begin = Clock::now();
  traffic.run(options.seconds, true);
  const double seconds = since(begin);
  std::vector<FlowFigures> figures;
  for (const Connection& connection : connections)
    figures.push_back({(connection.received - connection.before) * 8 / seconds, 0});
  traffic.stop_sending();
  traffic.run(drain_seconds(network, flows), false);
  for (std::size_t i = 0; i < flows.size(); ++i) figures[i].payload = connections[i].received;
  return figures;
}

double measure_round_trip(const Network& network, const Flow& flow, int count) {
  FileDescriptor here, there;
  network.host(flow.from).inside(
      [&] { here = bound_socket(SOCK_DGRAM, network.data_address(flow.from)); });
  network.host(flow.to).inside(
      [&] { there = bound_socket(SOCK_DGRAM, network.data_address(flow.to)); });
  connect_to(here, there);
  connect_to(there, here);
  const double delay =
      figures_of(network.topology(), network.routes().path(flow.from, flow.to)).delay;
  for (const FileDescriptor* end : {&here, &there}) limit_wait(*end, 1 + 4 * delay);
  std::array<char, 64> datagram = {};
  // Duplicates and stragglers of earlier probes are passed over.
  const auto cross = [&](const FileDescriptor& from, const FileDescriptor& to, int number) {
    std::memcpy(datagram.data(), &number, sizeof(number));
    if (send(from.get(), datagram.data(), datagram.size(), 0) < 0) return false;
    for (int got = -1; got != number;) {
      if (recv(to.get(), datagram.data(), datagram.size(), 0) < 0) return false;
      std::memcpy(&got, datagram.data(), sizeof(got));
    }
    return true;
  };
  std::vector<double> times;
  for (int i = 0; i < count && !stop_requested(); ++i) {
    const auto sent = Clock::now();
    if (cross(here, there, i) && cross(there, here, i)) times.push_back(since(sent));
  }
  if (stop_requested()) throw RunError("interrupted");
  if (times.size() < static_cast<std::size_t>(count + 1) / 2)
    throw RunError(fmt::format("{} of {} datagrams from {} to {} did not come back",
                               static_cast<std::size_t>(count) - times.size(), count,
                               network.host(flow.from).name(), network.host(flow.to).name()));
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace thinpipe
