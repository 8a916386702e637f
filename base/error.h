// The errors a user or the world can cause; what only a bug can cause is an assert.
#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace thinpipe {

/// Exit codes of the command; docs/exit-codes in the README's table.
enum ExitCode {
  kExitGood = 0,
  kExitRegression = 1,
  kExitUsage = 2,  ///< bad flag, bad input file, bad spec
  kExitInconclusive = 3,
  kExitFailed = 4,  ///< a measurement or a validation failed, or the machine cannot do it
  kExitNotComparable = 5,
};

/// Input from outside is wrong: a flag, a spec, a trace, a payload, a record. The command exits 2.
/// The message names the file and field, what was found and what was expected.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The machine refused or a measurement failed. The command exits 4.
class RunError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A system call failed: the attempt, then errno's text.
class SystemError : public RunError {
 public:
  explicit SystemError(const std::string& attempt, int error = errno)
      : RunError(attempt + ": " + std::strerror(error)), error_(error) {}
  int error() const { return error_; }

 private:
  int error_;
};

}  // namespace thinpipe
