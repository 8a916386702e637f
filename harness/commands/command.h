// The command `thinpipe`: finds the verb, runs it, turns errors into messages and exit codes.
#pragma once

#include <string>
#include <vector>

namespace thinpipe {

/// `words` are the arguments without the program's name. Returns the exit code; does not throw.
int run_command(const std::vector<std::string>& words);

}  // namespace thinpipe
