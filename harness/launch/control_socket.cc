#include "harness/launch/control_socket.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {
namespace {

constexpr std::size_t kLengthField = 4;
constexpr std::size_t kLongestHello = 100;  // bytes of a message with the secret
constexpr int kConnectSeconds = 5;
constexpr int kHelloSeconds = 10;  // for a peer that has connected to the door
// Longer, because a silent stranger may have connected to the door before this rank.
constexpr int kWelcomeSeconds = 25;

// Reads `size` bytes, or fewer when the peer has closed the connection. Returns their number.
std::size_t read_all(int descriptor, char* to, std::size_t size) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = recv(descriptor, to + done, size - done, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != ECONNRESET) throw SystemError("receive a control message");
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

void write_all(int descriptor, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t sent = ::send(descriptor, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw SystemError("send a control message");
    done += static_cast<std::size_t>(sent);
  }
}

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    throw RunError("control socket: the path " + path + " is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

FileDescriptor new_socket() {
  FileDescriptor descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!descriptor.valid()) throw SystemError("control socket");
  return descriptor;
}

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

// Detects a peer that vanished without closing within 25 s: the kernel then gives up an unanswered
// message or probe. 25 s is below 30 s, the default of --timeout, so that the error names the host
// that vanished. A step's timeout could not tell which of the waiting ranks caused it. Sends small
// messages at once.
void prepare_connection(int descriptor) {
  struct Option {
    int level, name, value;
  };
  for (const Option& option :
       {Option{SOL_SOCKET, SO_KEEPALIVE, 1}, Option{IPPROTO_TCP, TCP_KEEPIDLE, 5},
        Option{IPPROTO_TCP, TCP_KEEPINTVL, 5}, Option{IPPROTO_TCP, TCP_KEEPCNT, 4},
        Option{IPPROTO_TCP, TCP_USER_TIMEOUT, 25'000}, Option{IPPROTO_TCP, TCP_NODELAY, 1}})
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

// Connects within kConnectSeconds; an invalid descriptor if that fails.
FileDescriptor reach(const addrinfo& address) {
  FileDescriptor descriptor(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!descriptor.valid()) return {};
  limit_wait(descriptor.get(), kConnectSeconds);  // applies to connect() as well on Linux
  if (connect(descriptor.get(), address.ai_addr, address.ai_addrlen) != 0) return {};
  prepare_connection(descriptor.get());
  return descriptor;
}

// Returns the bytes of an IPv4 or IPv6 address; "" for another kind.
std::string address_bytes(const sockaddr& address) {
  const auto* const start = reinterpret_cast<const char*>(&address);
  if (address.sa_family == AF_INET) return {start + offsetof(sockaddr_in, sin_addr), 4};
  if (address.sa_family == AF_INET6) return {start + offsetof(sockaddr_in6, sin6_addr), 16};
  return "";
}

MessageSocket knock(const std::string& address, const std::string& port, const std::string& token) {
  const Addresses list = look_up(address, port, SOCK_STREAM, AI_NUMERICHOST | AI_NUMERICSERV);
  FileDescriptor descriptor = reach(*list);
  if (!descriptor.valid()) throw SystemError("connect");
  const int number = descriptor.get();
  MessageSocket socket(std::move(descriptor));
  limit_wait(number, kWelcomeSeconds);
  socket.send({{"token", token}});
  const auto answer = socket.receive(kLongestHello);
  if (!answer || !answer->is_object() || answer->value("welcome", "") != token)
    throw RunError("another program answers on this port");
  limit_wait(number, 0);
  return socket;
}

}  // namespace

MessageSocket MessageSocket::listen_at(const std::string& path) {
  MessageSocket result(new_socket());
  const sockaddr_un address = address_of(path);
  if (bind(result.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
          0 ||
      listen(result.descriptor(), SOMAXCONN) != 0)
    throw SystemError("control socket at " + path);
  return result;
}

MessageSocket MessageSocket::connect_to(const std::string& path) {
  MessageSocket result(new_socket());
  const sockaddr_un address = address_of(path);
  if (connect(result.descriptor(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) !=
      0)
    throw SystemError("connect to the sweep at " + path);
  return result;
}

MessageSocket MessageSocket::accept() const {
  FileDescriptor peer(accept4(descriptor(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!peer.valid()) throw SystemError("accept a worker");
  return MessageSocket(std::move(peer));
}

void MessageSocket::send(const nlohmann::json& message) const {
  const std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongestMessage)
    throw RunError(fmt::format("a control message of {} bytes is too long", text.size()));
  std::string framed;
  for (int shift = 24; shift >= 0; shift -= 8)
    framed += static_cast<char>(text.size() >> shift & 0xff);
  write_all(descriptor(), framed + text);
}

std::optional<std::string> MessageSocket::receive_text(std::size_t longest) const {
  std::array<char, kLengthField> header;
  if (read_all(descriptor(), header.data(), header.size()) < header.size()) return std::nullopt;
  std::size_t size = 0;
  for (const char byte : header) size = size << 8 | static_cast<unsigned char>(byte);
  if (size > longest)
    throw RunError(fmt::format("a control message announces {} bytes, which is too long", size));
  std::string text(size, '\0');
  if (read_all(descriptor(), text.data(), size) < size) return std::nullopt;
  return text;
}

std::optional<nlohmann::json> MessageSocket::receive(std::size_t longest) const {
  const std::optional<std::string> text = receive_text(longest);
  if (!text) return std::nullopt;
  auto message = nlohmann::json::parse(*text, nullptr, false);
  if (message.is_discarded()) throw RunError("a control message is not JSON");
  return message;
}

ControlDoor::ControlDoor(std::vector<std::string> addresses)
    : addresses_(std::move(addresses)), token_(new_token()) {
  // An IPv6 socket accepts IPv4 connections as well. Without IPv6, listens on IPv4 alone.
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
  limit_wait(number, kHelloSeconds);
  prepare_connection(number);
  MessageSocket socket(std::move(peer));
  try {
    const auto hello = socket.receive(kLongestHello);
    if (!hello || !hello->is_object() || hello->value("token", "") != token_) return std::nullopt;
    socket.send({{"welcome", token_}});
  } catch (const std::exception&) {
    return std::nullopt;  // not a rank of this sweep
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
        fmt::format("'{}' is no address of a sweep: only thinpipe run starts this program", where));
  std::string tried;
  for (const std::string& address : split(where.substr(colon + 1), ',')) {
    try {
      return knock(address, where.substr(4, colon - 4), token);
    } catch (const RunError& error) {
      tried += fmt::format("; {}: {}", address, error.what());
    }
  }
  throw RunError(
      fmt::format("cannot reach the sweep on port {}{}", where.substr(4, colon - 4), tried));
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
    // Connecting a datagram socket sends nothing: the kernel only looks up the route.
    if (any.valid() && connect(any.get(), one->ai_addr, one->ai_addrlen) == 0 &&
        getsockname(any.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof(text), nullptr, 0,
                    NI_NUMERICHOST) == 0)
      return text;
    error = errno;
  }
  throw SystemError(fmt::format("no route to host '{}'", name), error);
}

bool is_this_machine(const std::string& host) {
  if (host.find('@') != std::string::npos) return false;  // mpirun logs in there, wherever it is
  const Addresses list = look_up(host, "0", SOCK_DGRAM, AI_NUMERICSERV);
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) throw SystemError("list this machine's addresses");
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> own(first, freeifaddrs);
  for (const addrinfo* one = list.get(); one != nullptr; one = one->ai_next) {
    const std::string address = address_bytes(*one->ai_addr);
    // All of 127.0.0.0/8 is this machine; Debian gives 127.0.1.1 to a machine's own name.
    if (one->ai_family == AF_INET && address.front() == 127) return true;
    for (const ifaddrs* mine = own.get(); mine != nullptr; mine = mine->ifa_next)
      if (mine->ifa_addr != nullptr && mine->ifa_addr->sa_family == one->ai_family &&
          address_bytes(*mine->ifa_addr) == address)
        return true;
  }
  return false;
}

}  // namespace thinpipe
