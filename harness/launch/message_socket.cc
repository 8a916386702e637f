#include "harness/launch/message_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace thinpipe {

namespace {

constexpr std::size_t kLongestMessage = 65536;

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path))
    throw RunError("control socket: the path " + path + " is too long");
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

FileDescriptor new_socket() {
  FileDescriptor descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!descriptor.valid()) throw SystemError("control socket");
  return descriptor;
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
  if (text.size() > kLongestMessage) throw RunError("control message over 64 KiB");
  if (::send(descriptor(), text.data(), text.size(), MSG_NOSIGNAL) < 0)
    throw SystemError("send a control message");
}

std::optional<nlohmann::json> MessageSocket::receive() const {
  std::array<char, kLongestMessage> buffer;
  ssize_t size;
  do {
    size = recv(descriptor(), buffer.data(), buffer.size(), 0);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && errno != ECONNRESET) throw SystemError("receive a control message");
  if (size <= 0) return std::nullopt;
  return nlohmann::json::parse(buffer.data(), buffer.data() + size);
}

}  // namespace thinpipe
