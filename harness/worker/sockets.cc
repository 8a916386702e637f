#include "harness/worker/sockets.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/error.h"

namespace thinpipe {
namespace {

constexpr std::uint32_t kDataNetwork = 198U << 24 | 18U << 16;
constexpr std::uint32_t kDataMask = 0xffff0000U;

bool on_data_network(int descriptor) {
  sockaddr_in address = {};
  socklen_t size = sizeof(address);
  return getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
         address.sin_family == AF_INET &&
         (ntohl(address.sin_addr.s_addr) & kDataMask) == kDataNetwork;
}

// Returns whether a socket connects to another machine, by IPv4 or IPv6.
bool goes_out(int descriptor) {
  sockaddr_storage peer = {};
  socklen_t size = sizeof(peer);
  if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) != 0) return false;
  if (peer.ss_family == AF_INET)
    return ntohl(reinterpret_cast<sockaddr_in&>(peer).sin_addr.s_addr) >> 24 != 127;
  return peer.ss_family == AF_INET6 &&
         !IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<sockaddr_in6&>(peer).sin6_addr);
}

// Calls `prepare` for each socket for which `wanted` is true. Returns the names of these sockets'
// congestion controls after that.
template <typename Wanted, typename Prepare>
std::string names_in_force(Wanted wanted, Prepare prepare) {
  std::set<std::string> in_force;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    if (!wanted(descriptor)) continue;
    prepare(descriptor);
    char now[16] = {};  // TCP_CA_NAME_MAX
    socklen_t size = sizeof(now) - 1;
    if (getsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, now, &size) == 0) in_force.insert(now);
  }
  std::string names;
  for (const std::string& one : in_force) names += (names.empty() ? "" : "+") + one;
  return names;
}

}  // namespace

ControlWatch::ControlWatch(int connection) : wake_(eventfd(0, EFD_CLOEXEC)) {
  if (!wake_.valid()) throw SystemError("eventfd");
  thread_ = std::thread([connection, wake = wake_.get()] {
    pollfd waiting[] = {{connection, POLLRDHUP, 0}, {wake, POLLIN, 0}};
    while (poll(waiting, 2, -1) < 0 && errno == EINTR) {
    }
    if (waiting[1].revents == 0) _exit(kExitFailed);
  });
}

ControlWatch::~ControlWatch() {
  const std::uint64_t one = 1;
  if (write(wake_.get(), &one, sizeof(one)) == sizeof(one)) thread_.join();
}

void connect_all(MPI_Comm communicator) {
  int rank = 0, size = 1;
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  char out = 0, in = 0;
  for (int distance = 1; distance < size; ++distance)
    MPI_Sendrecv(&out, 1, MPI_CHAR, (rank + distance) % size, 0, &in, 1, MPI_CHAR,
                 (rank + size - distance) % size, 0, communicator, MPI_STATUS_IGNORE);
  MPI_Barrier(communicator);
}

std::string set_congestion_control(const std::string& name) {
  return names_in_force(on_data_network, [&](int descriptor) {
    setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, name.c_str(),
               static_cast<socklen_t>(name.size()));
  });
}

std::string congestion_control_in_force(int control) {
  return names_in_force(
      [&](int descriptor) { return descriptor != control && goes_out(descriptor); }, [](int) {});
}

}  // namespace thinpipe
