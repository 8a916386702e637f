#include "harness/predict/loopback.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/error.h"

namespace thinpipe {

namespace {

constexpr int kRoundTrips = 200;
using LoopbackMessage = std::array<char, 8>;

class Socket {
 public:
  explicit Socket(int descriptor, const char* attempt) : descriptor_(descriptor) {
    if (descriptor < 0) throw SystemError(attempt);
    const int on = 1;
    setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  ~Socket() { close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }

  bool send_message() const {
    const LoopbackMessage message = {};
    return ::send(descriptor_, message.data(), message.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(message.size());
  }
  bool receive_message() const {
    LoopbackMessage message;
    return ::recv(descriptor_, message.data(), message.size(), MSG_WAITALL) ==
           static_cast<ssize_t>(message.size());
  }

 private:
  int descriptor_;
};

int tcp_socket() { return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); }

// Sends back what comes until the other end closes.
void echo(const Socket& socket) {
  while (socket.receive_message() && socket.send_message()) {
  }
}

}  // namespace

double loopback_message_time() {
  const Socket door(tcp_socket(), "socket");
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(door.get(), generic, length) < 0) throw SystemError("bind 127.0.0.1");
  if (listen(door.get(), 1) < 0) throw SystemError("listen on 127.0.0.1");
  if (getsockname(door.get(), generic, &length) < 0) throw SystemError("getsockname");
  const Socket near(tcp_socket(), "socket");
  if (connect(near.get(), generic, length) < 0) throw SystemError("connect to 127.0.0.1");
  const Socket far(accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC), "accept on 127.0.0.1");
  std::thread other([&far] { echo(far); });
  std::vector<double> times;
  bool ok = true;
  for (int i = 0; i < kRoundTrips && ok; ++i) {
    const double begin = now_seconds();
    ok = near.send_message() && near.receive_message();
    times.push_back(now_seconds() - begin);
  }
  shutdown(near.get(), SHUT_RDWR);
  other.join();
  if (!ok) throw RunError("a message over the loopback interface did not come back");
  const auto middle = times.begin() + kRoundTrips / 2;
  std::nth_element(times.begin(), middle, times.end());
  return *middle / 2;
}

}  // namespace thinpipe
