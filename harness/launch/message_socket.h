// JSON messages between the sweep and its workers, beside the network that is measured.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "netem/file_descriptor.h"

namespace thinpipe {

/// A UNIX socket that keeps messages apart. Ranks on emulated hosts reach it by its path, whatever
/// network namespace they are in, so that nothing of the control crosses an emulated link.
class MessageSocket {
 public:
  MessageSocket() = default;
  explicit MessageSocket(FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {}

  /// @throws SystemError
  static MessageSocket listen_at(const std::string& path);
  static MessageSocket connect_to(const std::string& path);
  MessageSocket accept() const;

  /// @throws SystemError; RunError when the other side is gone.
  void send(const nlohmann::json& message) const;
  /// Waits for a message; nothing when the other side has gone.
  std::optional<nlohmann::json> receive() const;

  int descriptor() const { return descriptor_.get(); }

 private:
  FileDescriptor descriptor_;
};

}  // namespace thinpipe
