// Finds and starts thinpipe's other programs.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/programs.h"

namespace thinpipe {

/// Returns the path of one of thinpipe's programs ("thinpipe-worker"): in the folder of this
/// executable, as in a build folder, or in ../libexec/thinpipe, as installed.
/// @throws RunError naming the searched folders and what the program's absence means.
std::filesystem::path find_program(const std::string& name);

/// Returns a program's words in the form of execv(). The pointers are into `words`.
std::vector<char*> exec_words(std::vector<std::string>& words);

/// Replaces this process by `program`, which inherits the standard streams. Does not return.
/// @throws SystemError when the program cannot be executed.
[[noreturn]] void replace_process(const std::filesystem::path& program,
                                  const std::vector<std::string>& arguments);

/// Starts a program and does not wait for it. The arguments `input`, `output` and `errors` are
/// descriptors of open files; with input -1 the program has nothing to read.
/// @returns its process id @throws SystemError when it cannot be started.
pid_t start_process(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                    int input, int output, int errors);

/// Waits for a program to end. Ctrl-C reaches the program as well. A stop request that only this
/// process receives (netem's stop_requested()) is passed on once.
/// @returns its status, as from waitpid()
int wait_for_process(pid_t child);

struct ProgramOutput {
  std::string text;
  int status;  ///< as from waitpid()
};

/// Runs a program to its end and reads its output.
/// @param errors  descriptor for its errors; -1: they join its output
/// @param input   descriptor of its input, which must be a file; -1: it has nothing to read
/// @throws SystemError when it cannot be started.
ProgramOutput read_program(const std::filesystem::path& program,
                           const std::vector<std::string>& arguments, int errors = -1,
                           int input = -1);

}  // namespace thinpipe
