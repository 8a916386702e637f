// Programs of this build, run as a user runs them.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

struct Finished {
  int code = 0;        ///< exit code; 128 + signal where one ended it
  std::string output;  ///< standard output
  std::string error;   ///< standard error
};

/// Runs a program and waits for its end.
Finished run_program(const std::vector<std::string>& words);

}  // namespace thinpipe
