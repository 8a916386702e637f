#include "netem/verify.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/sandbox.h"

namespace thinpipe {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

sockaddr_in address_of(const std::string& ip, int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  inet_pton(AF_INET, ip.c_str(), &address.sin_addr);
  return address;
}

void limit_wait(int socket_fd, double seconds) {
  const timeval wait = {static_cast<time_t>(seconds),
                        static_cast<suseconds_t>((seconds - static_cast<long>(seconds)) * 1e6)};
  setsockopt(socket_fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  setsockopt(socket_fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
}

// A bound socket of the given type; TCP sockets are cubic where the kernel has it, whatever the
// namespace's default is.
FileDescriptor bound_socket(int type, const std::string& ip) {
  FileDescriptor result(socket(AF_INET, type | SOCK_CLOEXEC, 0));
  const sockaddr_in address = address_of(ip, 0);
  if (type == SOCK_STREAM)
    setsockopt(result.get(), IPPROTO_TCP, TCP_CONGESTION, "cubic", std::strlen("cubic"));
  limit_wait(result.get(), 5);
  if (!result.valid() ||
      bind(result.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw SystemError("bind a socket to " + ip);
  return result;
}

int port_of(const FileDescriptor& bound) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  if (getsockname(bound.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw SystemError("getsockname");
  return ntohs(address.sin_port);
}

void connect_to(const FileDescriptor& from, const std::string& ip, int port) {
  const sockaddr_in address = address_of(ip, port);
  if (connect(from.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw SystemError("connect to the other host at " + ip);
}

constexpr int kGrantedBuffer = 212992;  // the kernel's default net.core.wmem_max

struct Pair {
  FileDescriptor sender, receiver;
};

// A socket stays in the namespace it was made in, so one process can hold both ends.
Pair tcp_pair(const Network& network, const LinkSpec& link) {
  Pair pair;
  FileDescriptor listener;
  network.host(1).inside([&] {
    listener = bound_socket(SOCK_STREAM, network.data_address(1));
    if (listen(listener.get(), 1) != 0) throw SystemError("listen");
  });
  network.host(0).inside([&] {
    pair.sender = bound_socket(SOCK_STREAM, network.data_address(0));
    // Enough to keep the link busy, and not seconds of it to drain at the end. What the kernel
    // would not grant (net.core.wmem_max) is left to its own tuning, which a fixed size would end.
    const double bytes_per_second = link.rate() / 8;
    const double window = 2 * bytes_per_second * link.round_trip();
    const int buffer = static_cast<int>(std::clamp(bytes_per_second * 0.1, 65536.0, 4e6));
    if (window <= std::min(buffer, kGrantedBuffer))
      setsockopt(pair.sender.get(), SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
    connect_to(pair.sender, network.data_address(1), port_of(listener));
  });
  pair.receiver = FileDescriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!pair.receiver.valid()) throw SystemError("accept");
  limit_wait(pair.receiver.get(), 5);
  return pair;
}

struct RoundTrips {
  std::vector<double> times;  // s, sorted
  int lost = 0;
};

// Round trips of 64-byte datagrams over the idle link; the first, which asks
// ARP, is left out.
RoundTrips round_trips(const Network& network, const LinkSpec& link, int count) {
  constexpr double kPatience = 0.2, kEnough = 3;  // s, for one and for all
  constexpr int kFewest = 5;
  const double slowest =
      kPatience + 2 * link.round_trip() + 4 * 64 * 8 / std::max(link.rate(), 1.0);
  if (link.round_trip() > 0)
    count = std::clamp(static_cast<int>(kEnough / link.round_trip()), kFewest, count);
  FileDescriptor here, there;
  network.host(0).inside([&] { here = bound_socket(SOCK_DGRAM, network.data_address(0)); });
  network.host(1).inside([&] { there = bound_socket(SOCK_DGRAM, network.data_address(1)); });
  connect_to(here, network.data_address(1), port_of(there));
  connect_to(there, network.data_address(0), port_of(here));
  if (link.disturbs())
    for (const FileDescriptor* end : {&here, &there}) limit_wait(end->get(), slowest);
  std::array<char, 64> datagram = {};
  // Duplicates and stragglers of earlier probes are passed over.
  const auto cross = [&](const FileDescriptor& from, const FileDescriptor& to, int number) {
    std::memcpy(datagram.data(), &number, sizeof(number));
    if (send(from.get(), datagram.data(), datagram.size(), 0) < 0) return false;
    int got = -1;
    while (got != number) {
      if (recv(to.get(), datagram.data(), datagram.size(), 0) < 0) return false;
      std::memcpy(&got, datagram.data(), sizeof(got));
    }
    return true;
  };
  std::vector<double> times;
  for (int i = 0; i < count && !stop_requested(); ++i) {
    const auto sent = Clock::now();
    if (!cross(here, there, i) || !cross(there, here, i)) {
      const bool lost = link.disturbs() && (errno == EAGAIN || errno == EWOULDBLOCK);
      if (!lost && !stop_requested()) throw SystemError("echo a datagram between the hosts");
      continue;
    }
    if (i > 0) times.push_back(seconds_between(sent, Clock::now()));
  }
  std::sort(times.begin(), times.end());
  return {times, count - 1 - static_cast<int>(times.size())};
}

struct Transfer {
  std::vector<double> goodputs;  // bit/s of each window
  double payload = 0;            // bytes received in all, from the first to the last
};

// Sends until told to stop; the receiver's clock cuts the windows, and it reads to the end so that
// what the qdisc counted can be held against what arrived.
Transfer transfer(const Pair& pair, const VerifyOptions& options) {
  std::atomic<bool> done{false};
  std::thread sender([&] {
    const std::vector<char> block(std::size_t{64} * 1024);
    while (!done && send(pair.sender.get(), block.data(), block.size(), MSG_NOSIGNAL) > 0) {
    }
    shutdown(pair.sender.get(), SHUT_WR);
  });
  std::vector<char> block(1 << 20);
  Transfer result;
  const double window = options.seconds / options.windows;
  auto window_begin = Clock::now();
  double bytes = 0;
  bool settled = false;
  ssize_t got;
  while ((got = recv(pair.receiver.get(), block.data(), block.size(), 0)) > 0) {
    const auto now = Clock::now();
    bytes += static_cast<double>(got);
    result.payload += static_cast<double>(got);
    done = done || stop_requested() ||
           result.goodputs.size() >= static_cast<std::size_t>(options.windows);
    const double elapsed = seconds_between(window_begin, now);
    if (done || elapsed < (settled ? window : options.settle)) continue;
    if (settled) result.goodputs.push_back(bytes * 8 / elapsed);
    settled = true;
    window_begin = now;
    bytes = 0;
  }
  const int error = errno;
  done = true;
  sender.join();
  if (got < 0)
    throw SystemError("receive on the measured link (it stalled for 5 s or broke)", error);
  if (result.goodputs.empty()) throw RunError("interrupted before anything was measured");
  return result;
}

// Slow start takes a round trip for every doubling of the window.
VerifyOptions settled(const LinkSpec& link, VerifyOptions options) {
  constexpr double kDoublings = 20;
  options.settle += kDoublings * link.round_trip();
  return options;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

LinkCheck verify_link(Network& network, const LinkSpec& link, const VerifyOptions& options) {
  LinkCheck check;
  check.link = link.with_defaults();
  if (!link.throttled())
    throw InputError(fmt::format(
        "link '{}' has no rate that could be verified (such as rate=100mbit)", link.to_string()));
  check.ceiling = link.tcp_ceiling();
  check.round_trip_set = link.round_trip();
  network.set_links(link);
  const auto [trips, lost] = round_trips(network, link, options.pings);
  check.probes_lost = lost;
  if (stop_requested()) throw RunError("interrupted before anything was measured");
  if (trips.empty()) throw RunError(fmt::format("link '{}': no probe came back", link.to_string()));
  check.round_trip = trips[trips.size() / 2];
  check.round_trip_p95 = trips[trips.size() * 95 / 100];

  const std::uint64_t counted_before = network.counters(0).up.bytes;
  const Transfer measured = transfer(tcp_pair(network, link), settled(link, options));
  check.goodput = median(measured.goodputs);
  const auto [low, high] = std::minmax_element(measured.goodputs.begin(), measured.goodputs.end());
  check.goodput_low = *low;
  check.goodput_high = *high;
  const double needed = measured.payload * link.frame_bytes() / link.payload_bytes();
  check.wire_ratio = static_cast<double>(network.counters(0).up.bytes - counted_before) / needed;
  return check;
}

}  // namespace thinpipe
