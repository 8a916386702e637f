// Sends JSON messages between the sweep and its workers, outside the measured network. Messages go
// through a UNIX socket on this machine, and by TCP to and from real hosts.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "netem/file_descriptor.h"

namespace thinpipe {

/// A socket that preserves message boundaries: each message begins with its length, 4 bytes,
/// big-endian; 256 MiB at most. On this machine it is a UNIX socket. Ranks on emulated hosts reach
/// it by its path from any network namespace, so no control message crosses an emulated link. To a
/// rank on a real host it is a TCP connection (ControlDoor).
class MessageSocket {
 public:
  static constexpr std::size_t kLongestMessage = std::size_t{1} << 28;  ///< bytes

  MessageSocket() = default;
  explicit MessageSocket(FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {}

  /// @throws SystemError
  static MessageSocket listen_at(const std::string& path);
  static MessageSocket connect_to(const std::string& path);
  MessageSocket accept() const;

  /// @throws SystemError; RunError when the peer has closed the connection.
  void send(const nlohmann::json& message) const;
  /// Waits for a message of at most `longest` bytes; returns nothing when the peer has closed the
  /// connection.
  /// @throws RunError for data that is no such message, and when the socket's time limit is over.
  std::optional<nlohmann::json> receive(std::size_t longest = kLongestMessage) const;

  int descriptor() const { return descriptor_.get(); }

 private:
  std::optional<std::string> receive_text(std::size_t longest) const;

  FileDescriptor descriptor_;
};

/// The environment variable that passes the secret to ranks.
inline constexpr const char* kTokenVariable = "THINPIPE_TOKEN";

/// Accepts ranks on real hosts by TCP, with a secret that only they have. Listens on a port of the
/// kernel's choice, on all addresses of this machine.
class ControlDoor {
 public:
  /// @param addresses  IP addresses of this machine that the ranks may try, in this order
  /// @throws SystemError
  explicit ControlDoor(std::vector<std::string> addresses);

  /// Returns the address for a rank's command line: `tcp:PORT:ADDRESS,ADDRESS`.
  std::string where() const;
  const std::string& token() const { return token_; }
  int descriptor() const { return listener_.get(); }

  /// Accepts one connection; returns nothing when the peer lacks the secret, sends nothing for 10 s
  /// or closes the connection.
  std::optional<MessageSocket> accept() const;

 private:
  std::vector<std::string> addresses_;
  FileDescriptor listener_;
  int port_ = 0;
  std::string token_;
};

/// Connects a rank to its sweep. `where` is the path of a UNIX socket, or `tcp:...` with the
/// addresses of a ControlDoor, which are tried one after the other.
/// @throws RunError listing the addresses tried; InputError for a text that is neither.
MessageSocket connect_to_sweep(const std::string& where);

/// Returns the address from which this machine would send to `host` (a name or an address; `user@`
/// is ignored). @throws RunError when the name is unknown or there is no route.
std::string address_towards(const std::string& host);

/// Returns true if mpirun starts the rank of `host` on this machine without a login: `host` has no
/// `user@`, and is a name or an address of this machine.
/// @throws RunError when the name is unknown.
bool is_this_machine(const std::string& host);

}  // namespace thinpipe
