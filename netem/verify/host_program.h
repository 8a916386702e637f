// A program of the machine, run inside an emulated host.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "netem/file_descriptor.h"
#include "netem/host.h"

namespace thinpipe {

/// True when the name is a program in PATH.
bool is_installed(const std::string& name);

/// Ends with its owner, killed if need be.
class HostProgram {
 public:
  /// Its output and errors are kept; its input is empty.
  /// @throws RunError when it cannot be started.
  HostProgram(const Host& host, const std::vector<std::string>& words);
  ~HostProgram();
  HostProgram(const HostProgram&) = delete;
  HostProgram& operator=(const HostProgram&) = delete;

  /// Waits for its end, for so many seconds at most or until a stop is asked for; then it is
  /// killed.
  /// @returns its exit code; -1 when it was killed.
  int wait(double seconds);
  const std::string& output() const { return output_; }  ///< of both, once it has ended

 private:
  bool read_some(double seconds);  ///< false at the end
  void end();

  pid_t process_ = -1;
  FileDescriptor reading_;
  std::string output_;
};

}  // namespace thinpipe
