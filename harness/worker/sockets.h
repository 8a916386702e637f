// A rank's sockets: the control connection, which is watched, and the TCP connections to other
// ranks, which are opened before measurements and set to one congestion control.
#pragma once

#include <mpi.h>

#include <string>
#include <thread>

#include "netem/file_descriptor.h"

namespace thinpipe {

/// Ends this rank if the sweep ends while the rank waits for its peers. A rank in an exchange reads
/// no message, and its peers may have ended as well. So a thread watches a connection to the sweep
/// and calls _exit() when the other side closes it or ends. The destructor ends the watch.
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

/// Exchanges a byte with every other rank, so that Open MPI opens all its connections. Open MPI
/// connects two ranks only at their first message.
void connect_all(MPI_Comm communicator);

/// Sets the congestion control of this process's TCP sockets on the data network (198.18.0.0/16).
/// The namespace's default cannot be set without root on the whole machine, but a socket's can.
/// @returns the names in force afterwards, joined by '+'; "" without sockets
std::string set_congestion_control(const std::string& name);

/// Returns the congestion control in force on this process's TCP connections to other machines,
/// except the descriptor `control`: names joined by '+'; "" without sockets. On real hosts, each
/// host chooses its own congestion control.
std::string congestion_control_in_force(int control);

}  // namespace thinpipe
