#include "netem/verify/sockets.h"

#include <arpa/inet.h>
#include <linux/tcp.h>  // its tcp_info is newer than that of netinet/tcp.h
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "base/error.h"

namespace thinpipe {
namespace {

FileDescriptor bound_socket(const Network& network, int host, int type) {
  const std::string ip = network.data_address(host);
  FileDescriptor result;
  network.host(host).inside(
      [&] { result = FileDescriptor(socket(AF_INET, type | SOCK_CLOEXEC, 0)); });
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  inet_pton(AF_INET, ip.c_str(), &address.sin_addr);
  if (!result.valid() ||
      bind(result.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw SystemError("bind a socket to " + ip);
  if (type == SOCK_STREAM)
    setsockopt(result.get(), IPPROTO_TCP, TCP_CONGESTION, "cubic", std::strlen("cubic"));
  return result;
}

void connect_to(const Network& network, const FileDescriptor& from, const FileDescriptor& to,
                int host) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  if (getsockname(to.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      connect(from.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0)
    throw SystemError("connect to the other host at " + network.data_address(host));
}

tcp_info info_of(const FileDescriptor& connection) {
  tcp_info info = {};
  socklen_t size = sizeof(info);
  if (getsockopt(connection.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
    throw SystemError("get TCP_INFO");
  return info;
}

// From linux/udp.h. netinet/udp.h has them since glibc 2.28, behind a feature test.
constexpr int kUdpSegment = 103, kUdpGro = 104;
constexpr std::size_t kLargestPacket = 65536;

}  // namespace

void limit_wait(const FileDescriptor& socket, double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const timeval wait = {whole,
                        static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6)};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
}

SocketPair stream_pair(const Network& network, const Flow& flow, int send_buffer, double timeout) {
  SocketPair pair;
  const FileDescriptor listener = bound_socket(network, flow.to, SOCK_STREAM);
  if (listen(listener.get(), 1) != 0) throw SystemError("listen");
  pair.sender = bound_socket(network, flow.from, SOCK_STREAM);
  limit_wait(pair.sender, timeout);
  limit_wait(listener, timeout);
  if (send_buffer > 0)
    setsockopt(pair.sender.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
  connect_to(network, pair.sender, listener, flow.to);
  pair.receiver = FileDescriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!pair.receiver.valid()) throw SystemError("accept");
  limit_wait(pair.receiver, timeout);
  return pair;
}

double acks_sent(const FileDescriptor& connection) {
  const tcp_info info = info_of(connection);
  return static_cast<double>(info.tcpi_segs_out) - static_cast<double>(info.tcpi_data_segs_out);
}

double repeated_share(const FileDescriptor& sender) {
  const tcp_info info = info_of(sender);
  if (info.tcpi_data_segs_out == 0) return 0;
  return static_cast<double>(std::min(info.tcpi_dsack_dups, info.tcpi_total_retrans)) /
         static_cast<double>(info.tcpi_data_segs_out);
}

SocketPair datagram_pair(const Network& network, const Flow& flow, double timeout) {
  SocketPair pair{bound_socket(network, flow.from, SOCK_DGRAM),
                  bound_socket(network, flow.to, SOCK_DGRAM)};
  connect_to(network, pair.sender, pair.receiver, flow.to);
  connect_to(network, pair.receiver, pair.sender, flow.from);
  limit_wait(pair.sender, timeout);
  limit_wait(pair.receiver, timeout);
  return pair;
}

NumberedSender::NumberedSender(const FileDescriptor& socket, int datagram, int at_once)
    : socket_(socket),
      datagram_(static_cast<std::size_t>(datagram)),
      block_(datagram_ * static_cast<std::size_t>(at_once)) {
  if (at_once > 1 &&
      setsockopt(socket.get(), IPPROTO_UDP, kUdpSegment, &datagram, sizeof(datagram)) != 0)
    throw SystemError("set UDP_SEGMENT");
}

bool NumberedSender::send_batch(bool wait) {
  std::uint64_t number = next_;
  for (std::size_t at = 0; at < block_.size(); at += datagram_, ++number)
    std::memcpy(block_.data() + at, &number, sizeof(number));
  ssize_t sent;
  do sent = send(socket_.get(), block_.data(), block_.size(), wait ? 0 : MSG_DONTWAIT);
  while (sent < 0 && errno == EINTR);
  if (sent < 0 && errno != EAGAIN && errno != ENOBUFS) throw SystemError("send datagrams");
  if (sent < 0) return false;
  next_ = number;
  return true;
}

NumberedReceiver::NumberedReceiver(const FileDescriptor& socket, int datagram)
    : socket_(socket), datagram_(static_cast<std::size_t>(datagram)), block_(kLargestPacket) {
  const int yes = 1;
  if (setsockopt(socket.get(), SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof(yes)) != 0)
    throw SystemError("enable timestamps of datagrams (SO_TIMESTAMPNS)");
  setsockopt(socket.get(), IPPROTO_UDP, kUdpGro, &yes, sizeof(yes));  // Linux 5.0; only for speed
  const int large_buffer = 8 << 20;                                   // bytes; the kernel clamps it
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &large_buffer, sizeof(large_buffer));
}

void NumberedReceiver::take(std::vector<NumberedArrival>& arrivals) {
  while (true) {
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(timespec)) + CMSG_SPACE(sizeof(int))];
    iovec part = {block_.data(), block_.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t got = recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return;
    double time = 0;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_TIMESTAMPNS) continue;
      timespec stamp;
      std::memcpy(&stamp, CMSG_DATA(header), sizeof(stamp));
      time = static_cast<double>(stamp.tv_sec) + 1e-9 * static_cast<double>(stamp.tv_nsec);
    }
    // All datagrams have equal size, by which a GRO packet is split.
    for (std::size_t at = 0; at + datagram_ <= static_cast<std::size_t>(got); at += datagram_) {
      std::uint64_t number;
      std::memcpy(&number, block_.data() + at, sizeof(number));
      arrivals.push_back({number, time});
    }
  }
}

void NumberedReceiver::wait(double seconds) const {
  const timespec limit = {static_cast<time_t>(std::max(0.0, seconds)),
                          static_cast<long>(std::max(0.0, seconds - std::floor(seconds)) * 1e9)};
  pollfd waiting = {socket_.get(), POLLIN, 0};
  ppoll(&waiting, 1, &limit, nullptr);
}

std::uint64_t receive_buffer_drops(const Network& network, int host) {
  return static_cast<std::uint64_t>(network.host(host).protocol_counters("Udp").at("RcvbufErrors"));
}

}  // namespace thinpipe
