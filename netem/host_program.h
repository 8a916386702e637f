// A program of the machine, run inside an emulated host.
//
// Example:
//
//   std::string addresses_of(const thinpipe::Host& host) {
//     thinpipe::HostProgram program(host, {"ip", "-brief", "address"});
//     program.wait(/*seconds=*/10);
//     return program.output();
//   }
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "netem/file_descriptor.h"
#include "netem/host.h"

namespace thinpipe {

/// Ends with its owner, killed if need be. Its network and hostname are the host's, its environment
/// is ours, and stop signals do to it what they do to any program, whatever they do to us.
class HostProgram {
 public:
  enum class Streams {
    kKept,  ///< output and errors go into output(), the input is empty
    kOurs,  ///< this process's
  };

  /// @param words  the program, searched in PATH, and its arguments; at least one
  /// @throws SystemError when it cannot be started: ENOENT or EACCES where there is no such
  /// program.
  HostProgram(const Host& host, const std::vector<std::string>& words,
              Streams streams = Streams::kKept);
  ~HostProgram();
  HostProgram(const HostProgram&) = delete;
  HostProgram& operator=(const HostProgram&) = delete;

  /// Waits for the end of its output and its own, for so many seconds at most or until a stop is
  /// asked for; then it is killed.
  /// @returns its exit code; -1 when it was killed.
  int wait(double seconds);
  /// Waits for its end; a stop that is asked for is passed on to it.
  /// @returns its exit code, or 128 and the number of the signal that ended it, as a shell does.
  int wait_and_pass_on_stops();
  /// Waits until more than `before` sockets of the host await others (see listening_sockets), for
  /// so many seconds at most, or until the program ends or a stop is asked for.
  /// @returns true when they do.
  bool wait_until_listening(std::size_t before, double seconds);
  const std::string& output() const { return output_; }  ///< of both, once it has ended

 private:
  bool read_some(double seconds);  ///< false at the end
  bool has_ended();
  void end();

  const Host& host_;
  pid_t process_ = -1;  ///< -1 once it has ended
  int status_ = 0;      ///< then
  FileDescriptor reading_;
  std::string output_;
};

/// TCP sockets that listen and UDP sockets that are bound, of the host's network.
std::size_t listening_sockets(const Host& host);

}  // namespace thinpipe
