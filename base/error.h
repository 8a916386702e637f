// Errors that a user or the machine can cause. Errors that only a bug can cause are assertions.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace thinpipe {

/// Exit codes of the command, as in the README's table.
enum ExitCode {
  kExitGood = 0,
  kExitRegression = 1,
  kExitUsage = 2,  ///< bad flag, bad input file, bad spec
  kExitInconclusive = 3,
  kExitFailed = 4,  ///< a measurement or a validation failed, or the machine cannot do it
  kExitNotComparable = 5,
};

/// Reports wrong input from outside: a flag, a spec, a trace, a payload, a record. The command
/// exits 2. The message names the file and field, the value found and the values expected.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reports that the machine refused or that a measurement failed. The command exits 4.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Reports a failed system call: the attempt, then errno's text.
class SystemError : public RunError {
 public:
  explicit SystemError(const std::string& attempt, int error = errno)
      : RunError(attempt + ": " + std::strerror(error)), error_(error) {}
  int error() const { return error_; }

 private:
  int error_;
};

}  // namespace thinpipe
