// How ranks on real hosts come to the sweep: by TCP, with a secret that only they were told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/launch/message_socket.h"

namespace thinpipe {

/// The environment variable in which ranks are told the secret.
inline constexpr const char* kTokenVariable = "THINPIPE_TOKEN";

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
