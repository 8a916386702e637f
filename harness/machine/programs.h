// Where the programs are that the command starts.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/programs.h"

namespace thinpipe {

/// A program of thinpipe's own ("thinpipe-worker"): beside this executable, as in a build folder,
/// or in ../libexec/thinpipe, as installed.
/// @throws RunError saying where it was looked for and what its absence means.
std::filesystem::path find_program(const std::string& name);

/// Replaces this process by `program`; standard streams are kept. Does not return.
/// @throws SystemError when the program cannot be executed.
[[noreturn]] void replace_process(const std::filesystem::path& program,
                                  const std::vector<std::string>& arguments);

/// Starts a program beside this process, which does not wait for it. Its input, output and errors
/// are these open files; input -1: nothing to read.
/// @returns its process id @throws SystemError when it cannot be started.
pid_t start_process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                    int input, int output, int errors);

/// Waits for it. Ctrl-C reaches it as well, and it cleans up; a stop that came to this process
/// alone (netem's stop_requested()) is passed on once.
/// @returns its status, as waitpid's
int wait_for_process(pid_t child);

}  // namespace thinpipe
