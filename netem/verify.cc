#include "netem/verify.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
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

struct Pair {
  FileDescriptor sender, receiver;
};

// A socket stays in the namespace it was made in, so one process can hold both ends.
Pair tcp_pair(const Star& star, double rate) {
  Pair pair;
  FileDescriptor listener;
  star.host(1).inside([&] {
    listener = bound_socket(SOCK_STREAM, star.data_address(1));
    if (listen(listener.get(), 1) != 0) throw SystemError("listen");
  });
  star.host(0).inside([&] {
    pair.sender = bound_socket(SOCK_STREAM, star.data_address(0));
    // Enough to keep the link busy, and not seconds of it to drain at the end.
    const int buffer = static_cast<int>(std::clamp(rate / 8 * 0.1, 65536.0, 4e6));
    setsockopt(pair.sender.get(), SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
    connect_to(pair.sender, star.data_address(1), port_of(listener));
  });
  pair.receiver = FileDescriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!pair.receiver.valid()) throw SystemError("accept");
  limit_wait(pair.receiver.get(), 5);
  return pair;
}

// Round trips of 64-byte datagrams over the idle link, sorted, in seconds.
std::vector<double> round_trips(const Star& star, int count) {
  FileDescriptor here, there;
  star.host(0).inside([&] { here = bound_socket(SOCK_DGRAM, star.data_address(0)); });
  star.host(1).inside([&] { there = bound_socket(SOCK_DGRAM, star.data_address(1)); });
  connect_to(here, star.data_address(1), port_of(there));
  connect_to(there, star.data_address(0), port_of(here));
  char datagram[64] = {};
  std::vector<double> times;
  for (int i = 0; i < count && !stop_requested(); ++i) {
    const auto sent = Clock::now();
    if (send(here.get(), datagram, sizeof(datagram), 0) < 0 ||
        recv(there.get(), datagram, sizeof(datagram), 0) < 0 ||
        send(there.get(), datagram, sizeof(datagram), 0) < 0 ||
        recv(here.get(), datagram, sizeof(datagram), 0) < 0)
      throw SystemError("echo a datagram between the hosts");
    if (i > 0) times.push_back(seconds_between(sent, Clock::now()));  // the first one asked ARP
  }
  std::sort(times.begin(), times.end());
  return times;
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

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

}  // namespace

LinkCheck verify_link(Star& star, const LinkSpec& link, const VerifyOptions& options) {
  LinkCheck check;
  check.link = link.with_defaults();
  if (!link.throttled()) throw InputError("a link without a rate has nothing to verify");
  check.ceiling = tcp_ceiling(link.rate);
  star.set_links(link);
  const std::vector<double> trips = round_trips(star, options.pings);
  if (trips.empty()) throw RunError("interrupted before anything was measured");
  check.round_trip = trips[trips.size() / 2];
  check.round_trip_p95 = trips[trips.size() * 95 / 100];

  const std::uint64_t counted_before = star.counters(0).up.bytes;
  const Transfer measured = transfer(tcp_pair(star, link.rate), options);
  check.goodput = median(measured.goodputs);
  const auto [low, high] = std::minmax_element(measured.goodputs.begin(), measured.goodputs.end());
  check.goodput_low = *low;
  check.goodput_high = *high;
  const double needed = measured.payload * kFrameBytes / kPayloadBytes;
  check.wire_ratio = static_cast<double>(star.counters(0).up.bytes - counted_before) / needed;
  return check;
}

}  // namespace thinpipe
