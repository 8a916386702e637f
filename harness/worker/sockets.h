// A rank's sockets: the control connection, watched, and the TCP connections to other ranks, made
// before anything is measured and set to one congestion control.
#pragma once

#include <mpi.h>

#include <string>
#include <thread>

#include "netem/file_descriptor.h"

namespace thinpipe {

/// Ends a rank whose sweep is gone while it waits for its peers. Watches a connection from a thread
/// of its own and ends the process, without ceremony, when the other side closes it or is gone: a
/// rank in an exchange reads no message, and its peers may be gone as well. Nothing happens once
/// the watch itself is gone.
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

/// Exchanges a byte with every other rank, so that Open MPI, which connects at the first message,
/// has all its connections.
void connect_all(MPI_Comm communicator);

/// Sets the congestion control of this process's TCP sockets on the data network (198.18.0.0/16).
/// The namespace's default cannot be set without root on the whole machine, a socket's own can.
/// @returns what is in force on them afterwards: one name, or several joined by '+'; "" for none.
std::string set_congestion_control(const std::string& name);

/// Congestion control in force on this process's TCP connections to other machines, except
/// `control`, a descriptor: real hosts choose their own. As above.
std::string congestion_control_in_force(int control);

}  // namespace thinpipe
