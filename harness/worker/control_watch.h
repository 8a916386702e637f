// Ends a rank whose sweep is gone while it waits for its peers.
#pragma once

#include <thread>

#include "netem/file_descriptor.h"

namespace thinpipe {

/// Watches a connection from a thread of its own and ends the process, without ceremony, when the
/// other side closes it or is gone: a rank in an exchange reads no message, and its peers may be
/// gone as well. Nothing happens once the watch itself is gone.
class ControlWatch {
 public:
  explicit ControlWatch(int connection);
  ~ControlWatch();
  ControlWatch(const ControlWatch&) = delete;
  ControlWatch& operator=(const ControlWatch&) = delete;

 private:
  FileDescriptor wake_;
  std::thread thread_;
};

}  // namespace thinpipe
