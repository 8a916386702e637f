#include "harness/launch/control_door.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <array>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {

namespace {

constexpr int kPatienceSeconds = 5;

struct AddressesDeleter {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, AddressesDeleter>;

Addresses look_up(const std::string& host, const std::string& port, int type, int flags) {
  addrinfo hints = {};
  hints.ai_socktype = type;
  hints.ai_flags = flags;
  addrinfo* list = nullptr;
  const int result = getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  if (result != 0) throw RunError(fmt::format("host '{}': {}", host, gai_strerror(result)));
  return Addresses(list);
}

void limit_wait(int descriptor, int seconds) {
  const timeval wait = {seconds, 0};
  setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
  setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
}

// A peer that has vanished without a word is noticed within a minute; small messages go at once.
void prepare_connection(int descriptor) {
  struct Option {
    int level, name, value;
  };
  for (const Option& option :
       {Option{SOL_SOCKET, SO_KEEPALIVE, 1}, Option{IPPROTO_TCP, TCP_KEEPIDLE, 20},
        Option{IPPROTO_TCP, TCP_KEEPINTVL, 5}, Option{IPPROTO_TCP, TCP_KEEPCNT, 6},
        Option{IPPROTO_TCP, TCP_USER_TIMEOUT, 50'000}, Option{IPPROTO_TCP, TCP_NODELAY, 1}})
    setsockopt(descriptor, option.level, option.name, &option.value, sizeof(option.value));
}

std::string new_token() {
  std::array<unsigned char, 16> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw SystemError("random bytes for a secret");
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// Connects within kPatienceSeconds, or gives nothing.
FileDescriptor reach(const addrinfo& address) {
  FileDescriptor descriptor(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!descriptor.valid()) return {};
  limit_wait(descriptor.get(), kPatienceSeconds);  // Linux: holds for connect() as well
  if (connect(descriptor.get(), address.ai_addr, address.ai_addrlen) != 0) return {};
  prepare_connection(descriptor.get());
  return descriptor;
}

MessageSocket knock(const std::string& address, const std::string& port, const std::string& token) {
  const Addresses list = look_up(address, port, SOCK_STREAM, AI_NUMERICHOST | AI_NUMERICSERV);
  FileDescriptor descriptor = reach(*list);
  if (!descriptor.valid()) throw SystemError("connect");
  const int number = descriptor.get();
  MessageSocket socket(std::move(descriptor), MessageSocket::Framing::kStream);
  socket.send({{"token", token}});
  const auto answer = socket.receive();
  if (!answer || !answer->is_object() || answer->value("welcome", "") != token)
    throw RunError("somebody else answers there");
  limit_wait(number, 0);
  return socket;
}

}  // namespace

ControlDoor::ControlDoor(std::vector<std::string> addresses)
    : addresses_(std::move(addresses)), token_(new_token()) {
  // IPv6 takes IPv4 connections as well; where there is none, IPv4 alone.
  sockaddr_in6 any6 = {};
  any6.sin6_family = AF_INET6;
  sockaddr_in any4 = {};
  any4.sin_family = AF_INET;
  const auto listen_on = [&](int family, const auto& address) {
    listener_ = FileDescriptor(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int off = 0;
    if (family == AF_INET6)
      setsockopt(listener_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    return listener_.valid() &&
           bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
               0 &&
           listen(listener_.get(), SOMAXCONN) == 0;
  };
  if (!listen_on(AF_INET6, any6) && !listen_on(AF_INET, any4))
    throw SystemError("listen for the ranks");
  sockaddr_storage bound = {};
  socklen_t size = sizeof(bound);
  if (getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&bound), &size) != 0)
    throw SystemError("getsockname");
  port_ = ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                            : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

std::string ControlDoor::where() const {
  return fmt::format("tcp:{}:{}", port_, fmt::join(addresses_, ","));
}

std::optional<MessageSocket> ControlDoor::accept() const {
  FileDescriptor peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!peer.valid()) return std::nullopt;
  const int number = peer.get();
  limit_wait(number, kPatienceSeconds);
  prepare_connection(number);
  MessageSocket socket(std::move(peer), MessageSocket::Framing::kStream);
  try {
    const auto hello = socket.receive();
    if (!hello || !hello->is_object() || hello->value("token", "") != token_) return std::nullopt;
    socket.send({{"welcome", token_}});
  } catch (const std::exception&) {
    return std::nullopt;  // whatever it was, it was no rank of ours
  }
  limit_wait(number, 0);
  return socket;
}

MessageSocket connect_to_sweep(const std::string& where) {
  if (where.starts_with("/")) return MessageSocket::connect_to(where);
  const std::size_t colon = where.find(':', 4);
  const char* token = std::getenv(kTokenVariable);
  if (!where.starts_with("tcp:") || colon == std::string::npos || token == nullptr)
    throw InputError(
        fmt::format("'{}' is no way to a sweep: only thinpipe run starts this program", where));
  std::string tried;
  for (const std::string& address : split(where.substr(colon + 1), ',')) {
    try {
      return knock(address, where.substr(4, colon - 4), token);
    } catch (const RunError& error) {
      tried += fmt::format("; {}: {}", address, error.what());
    }
  }
  throw RunError(
      fmt::format("no way to the sweep on port {}{}", where.substr(4, colon - 4), tried));
}

std::string address_towards(const std::string& host) {
  const std::size_t at = host.find('@');
  const std::string name = at == std::string::npos ? host : host.substr(at + 1);
  const Addresses list = look_up(name, "9", SOCK_DGRAM, AI_NUMERICSERV);
  int error = 0;
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    const FileDescriptor any(socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own = {};
    socklen_t size = sizeof(own);
    char text[NI_MAXHOST];
    // Connecting a datagram socket sends nothing: the kernel only looks for the way.
    if (any.valid() && connect(any.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        getsockname(any.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof(text), nullptr, 0,
                    NI_NUMERICHOST) == 0)
      return text;
    error = errno;
  }
  throw SystemError(fmt::format("no way to host '{}'", name), error);
}

}  // namespace thinpipe
