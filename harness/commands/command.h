// The command `thinpipe`: finds the verb, runs it, turns errors into messages and exit codes.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "harness/options/verb.h"

namespace thinpipe {

/// The action that a command line asks for, or the error in it.
struct ReadCommand {
  std::string who = "thinpipe";  ///< in whose name errors are told: "thinpipe run"
  Action action = {};            ///< empty where there is an error
  int code = kExitGood;          ///< the exit code of the error
  std::string error = {};        ///< as standard error is to have it, without the last newline
};

/// Finds the verb and prepares it: all that happens before anything is done. Does not throw.
/// @param words  the arguments without the program's name
ReadCommand read_command(const std::vector<std::string>& words);

/// The same, and does it. Returns the exit code; does not throw.
int run_command(const std::vector<std::string>& words);

}  // namespace thinpipe
