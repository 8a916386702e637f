// Runs a program of this machine inside an emulated host.
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
#include <optional>
#include <string>
#include <vector>

#include "netem/file_descriptor.h"
#include "netem/host.h"

namespace thinpipe {

/// A running program. The program has the host's network and hostname, this process's environment,
/// and the default disposition of stop signals (but SIGHUP stays ignored under `nohup`). Unless the
/// program shares this process's stdin, it has a process group of its own, so that a terminal's
/// Ctrl-C does not reach it. The destructor kills the program and this group if the program still
/// runs.
class HostProgram {
 public:
  enum class Streams {
    kKept,          ///< stdout and stderr go to output(); stdin is empty
    kOurs,          ///< all three are those of this process
    kOursButInput,  ///< as kOurs, but stdin is empty, so that only one of several programs reads
  };

  /// @param words  the program, searched in PATH, and its arguments; at least one word
  /// @param output  a descriptor for stdout and stderr, in place of `streams`; stdin is then empty.
  ///   -1: none
  /// @throws SystemError when the program cannot be started; ENOENT or EACCES if there is no such
  /// program.
  HostProgram(const Host& host, const std::vector<std::string>& words,
              Streams streams = Streams::kKept, int output = -1);
  ~HostProgram();
  HostProgram(const HostProgram&) = delete;
  HostProgram& operator=(const HostProgram&) = delete;

  /// Waits until the program has closed its output and exited. Kills the program after `seconds` s
  /// or when a stop is requested (stop_requested()).
  /// @returns the exit code; -1 if a signal ended the program.
  int wait(double seconds);
  /// Waits until the program exits. Forwards a requested stop to the program.
  /// @returns the exit code, or 128 plus the number of the terminating signal, as a shell does.
  int wait_and_pass_on_stops();
  /// Returns the exit code as wait_and_pass_on_stops() does; nullopt while the program runs.
  std::optional<int> exit_code();
  /// Sends a signal, if the program still runs.
  void signal(int number);
  /// Sends a signal to the program's process group, also after the program has ended, because the
  /// processes that it started may run longer. Does nothing if it has no group of its own.
  void signal_group(int number);
  /// Waits until the host has more than `before` listening sockets (see listening_sockets). Stops
  /// waiting after `seconds` s, when the program ends, or when a stop is requested.
  /// @returns true if the host has more than `before` listening sockets.
  bool wait_until_listening(std::size_t before, double seconds);
  const std::string& output() const { return output_; }  ///< stdout and stderr, after the exit

 private:
  bool read_some(double seconds);  ///< false at the end of the output
  bool has_ended();
  void end();

  const Host& host_;
  pid_t process_ = -1;  ///< -1 after the exit
  pid_t group_ = -1;    ///< the program's own process group, if it has one
  int status_ = 0;      ///< as waitpid() returns it
  FileDescriptor reading_;
  std::string output_;
};

/// Reaps ended processes whose parent has ended before them. Such processes are children of the
/// sandbox's first process, so this does nothing in any other process. Call it repeatedly while
/// programs run, because a process that is not reaped seems to run still.
void reap_orphans();

/// Returns the number of listening TCP sockets and of bound, unconnected UDP sockets in the host's
/// network.
std::size_t listening_sockets(const Host& host);

}  // namespace thinpipe
