// JSON messages between the sweep and its workers, beside the network that is measured: through a
// UNIX socket on this machine, and by TCP from real hosts.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "netem/file_descriptor.h"

namespace thinpipe {

/// A socket that keeps messages apart: a UNIX one, which ranks on emulated hosts reach by its path,
/// whatever network namespace they are in, so that nothing of the control crosses an emulated link;
/// or a TCP connection to a rank on a real host (ControlDoor).
class MessageSocket {
 public:
  enum class Framing {
    kPackets,  ///< the socket keeps messages apart itself (SOCK_SEQPACKET); 64 KiB at most
    kStream,   ///< each begins with its length, 4 bytes, the greatest first; 256 MiB at most
  };
  MessageSocket() = default;
  explicit MessageSocket(FileDescriptor descriptor, Framing framing = Framing::kPackets)
      : descriptor_(std::move(descriptor)), framing_(framing) {}

  /// @throws SystemError
  static MessageSocket listen_at(const std::string& path);
  static MessageSocket connect_to(const std::string& path);
  MessageSocket accept() const;

  /// @throws SystemError; RunError when the other side is gone.
  void send(const nlohmann::json& message) const;
  /// Waits for a message; nothing when the other side has gone.
  /// @throws RunError for what is no message, and when a time limit set on the socket is over.
  std::optional<nlohmann::json> receive() const;

  int descriptor() const { return descriptor_.get(); }

 private:
  std::optional<std::string> receive_text() const;

  FileDescriptor descriptor_;
  Framing framing_ = Framing::kPackets;
};

/// The environment variable in which ranks are told the secret.
inline constexpr const char* kTokenVariable = "THINPIPE_TOKEN";

/// How ranks on real hosts come to the sweep: by TCP, with a secret that only they were told.
/// Listens on a port of the kernel's choice, on all addresses of this machine.
class ControlDoor {
 public:
  /// @param addresses  IP addresses of this machine that the ranks may try, in this order
  /// @throws SystemError
  explicit ControlDoor(std::vector<std::string> addresses);

  /// For a rank's command line: `tcp:PORT:ADDRESS,ADDRESS`.
  std::string where() const;
  const std::string& token() const { return token_; }
  int descriptor() const { return listener_.get(); }

  /// Takes one connection; nothing when whoever came does not know the secret, says nothing for 5 s
  /// or has gone again.
  std::optional<MessageSocket> accept() const;

 private:
  std::vector<std::string> addresses_;
  FileDescriptor listener_;
  int port_ = 0;
  std::string token_;
};

/// A rank's side: a path is a UNIX socket, `tcp:...` a door, of which every address is tried.
/// @throws RunError saying what was tried; InputError for a text that is neither.
MessageSocket connect_to_sweep(const std::string& where);

/// The address of this machine from which it would send to `host` (a name or an address; `user@` is
/// passed over). @throws RunError when the name is not known or there is no route.
std::string address_towards(const std::string& host);

}  // namespace thinpipe
