#include "netem/verify/numbered.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"

namespace thinpipe {

namespace {

// linux/udp.h; netinet/udp.h has them since glibc 2.28 behind a feature test.
constexpr int kUdpSegment = 103, kUdpGro = 104;
constexpr int kMuchRoom = 8 << 20;
constexpr std::size_t kLargestPacket = 65536;

void ask_for_room(const FileDescriptor& socket, int option) {
  int room = kMuchRoom;
  setsockopt(socket.get(), SOL_SOCKET, option, &room, sizeof(room));  // clamped to what is allowed
}

}  // namespace

double wall_clock() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

NumberedSender::NumberedSender(const FileDescriptor& socket, int datagram, int at_once)
    : socket_(socket),
      datagram_(static_cast<std::size_t>(datagram)),
      block_(datagram_ * static_cast<std::size_t>(at_once)) {
  if (at_once > 1 &&
      setsockopt(socket.get(), IPPROTO_UDP, kUdpSegment, &datagram, sizeof(datagram)) != 0)
    throw SystemError("several datagrams as one packet (UDP_SEGMENT)");
}

bool NumberedSender::send_piece(bool wait) {
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
    throw SystemError("the kernel's timestamps of datagrams");
  setsockopt(socket.get(), IPPROTO_UDP, kUdpGro, &yes, sizeof(yes));  // Linux 5.0; faster, no more
  ask_for_room(socket, SO_RCVBUF);
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
    // All datagrams are of one size, so a large packet falls into them.
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

std::uint64_t datagrams_without_room(const Network& network, int host) {
  return static_cast<std::uint64_t>(network.host(host).protocol_counters("Udp").at("RcvbufErrors"));
}

}  // namespace thinpipe
