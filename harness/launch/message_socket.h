// JSON messages between the sweep and its workers, beside the network that is measured.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "netem/file_descriptor.h"

namespace thinpipe {

/// A socket that keeps messages apart: a UNIX one, which ranks on emulated hosts reach by its path,
/// whatever network namespace they are in, so that nothing of the control crosses an emulated link;
/// or a TCP connection to a rank on a real host (control_door.h).
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

}  // namespace thinpipe
