#include "harness/launch/message_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {

namespace {

constexpr std::size_t kLongestMessage = 65536;
constexpr std::size_t kLongestInStream = std::size_t{1} << 28;
constexpr std::size_t kLengthField = 4;

// As many bytes as asked for, or fewer when the other side has gone.
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
  const bool stream = framing_ == Framing::kStream;
  if (text.size() > (stream ? kLongestInStream : kLongestMessage))
    throw RunError(fmt::format("a control message of {} bytes is too long", text.size()));
  std::string framed;
  if (stream)
    for (int shift = 24; shift >= 0; shift -= 8)
      framed += static_cast<char>(text.size() >> shift & 0xff);
  write_all(descriptor(), framed + text);  // a packet is sent whole
}

std::optional<std::string> MessageSocket::receive_text() const {
  if (framing_ == Framing::kPackets) {
    std::string text(kLongestMessage, '\0');
    ssize_t size;
    do {
      size = recv(descriptor(), text.data(), text.size(), 0);
    } while (size < 0 && errno == EINTR);
    if (size < 0 && errno != ECONNRESET) throw SystemError("receive a control message");
    if (size <= 0) return std::nullopt;
    text.resize(static_cast<std::size_t>(size));
    return text;
  }
  std::array<char, kLengthField> header;
  if (read_all(descriptor(), header.data(), header.size()) < header.size()) return std::nullopt;
  std::size_t size = 0;
  for (const char byte : header) size = size << 8 | static_cast<unsigned char>(byte);
  if (size > kLongestInStream)
    throw RunError(fmt::format("a control message of {} bytes is announced", size));
  std::string text(size, '\0');
  if (read_all(descriptor(), text.data(), size) < size) return std::nullopt;
  return text;
}

std::optional<nlohmann::json> MessageSocket::receive() const {
  const std::optional<std::string> text = receive_text();
  if (!text) return std::nullopt;
  auto message = nlohmann::json::parse(*text, nullptr, false);
  if (message.is_discarded()) throw RunError("what came as a control message is not JSON");
  return message;
}

}  // namespace thinpipe
