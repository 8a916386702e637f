#include "netem/verify/sockets.h"

#include <arpa/inet.h>
#include <linux/tcp.h>  // its tcp_info is newer than that of netinet/tcp.h
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

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
    throw SystemError("ask for TCP_INFO");
  return info;
}

}  // namespace

void limit_wait(const FileDescriptor& socket, double seconds) {
  const auto whole = static_cast<time_t>(seconds);
  const timeval wait = {whole,
                        static_cast<suseconds_t>((seconds - static_cast<double>(whole)) * 1e6)};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
}

SocketPair stream_pair(const Network& network, const Flow& flow, int send_buffer, double patience) {
  SocketPair pair;
  const FileDescriptor listener = bound_socket(network, flow.to, SOCK_STREAM);
  if (listen(listener.get(), 1) != 0) throw SystemError("listen");
  pair.sender = bound_socket(network, flow.from, SOCK_STREAM);
  limit_wait(pair.sender, patience);
  limit_wait(listener, patience);
  if (send_buffer > 0)
    setsockopt(pair.sender.get(), SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof(send_buffer));
  connect_to(network, pair.sender, listener, flow.to);
  pair.receiver = FileDescriptor(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!pair.receiver.valid()) throw SystemError("accept");
  limit_wait(pair.receiver, patience);
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

SocketPair datagram_pair(const Network& network, const Flow& flow, double patience) {
  SocketPair pair{bound_socket(network, flow.from, SOCK_DGRAM),
                  bound_socket(network, flow.to, SOCK_DGRAM)};
  connect_to(network, pair.sender, pair.receiver, flow.to);
  connect_to(network, pair.receiver, pair.sender, flow.from);
  limit_wait(pair.sender, patience);
  limit_wait(pair.receiver, patience);
  return pair;
}

}  // namespace thinpipe
