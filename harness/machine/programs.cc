#include "harness/machine/programs.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "base/error.h"
#include "netem/file_descriptor.h"
#include "netem/sandbox.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

const char* absence(const std::string& name) {
  if (name == "thinpipe-capture" || name == "thinpipe-train-worker")
    return "training is not installed; install the package thinpipe-training, or libtorch (Debian: "
           "libtorch-dev) and build again";
  if (name == "thinpipe-simulate")
    return "simulation is not installed; install the package thinpipe-simulation, or SimGrid "
           "(Debian: libsimgrid-dev) and build again";
  return "the build or the installation is incomplete";
}

std::vector<std::string> command_line(const fs::path& program,
                                      const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  return words;
}

}  // namespace

fs::path find_program(const std::string& name) {
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path libexec = folder.parent_path() / "libexec" / "thinpipe";
  for (const fs::path& place : {folder, libexec}) {
    if (is_executable(place / name)) return place / name;
  }
  throw RunError("no program " + name + " in " + folder.string() + " or " + libexec.string() +
                 ": " + absence(name));
}

std::vector<char*> exec_words(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

void replace_process(const fs::path& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> words = command_line(program, arguments);
  std::fflush(nullptr);
  ::execv(program.c_str(), exec_words(words).data());
  throw SystemError("executing " + program.string());
}

pid_t start_process(const fs::path& program, const std::vector<std::string>& arguments, int input,
                    int output, int errors) {
  std::vector<std::string> words = command_line(program, arguments);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (input < 0) {
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  } else {
    ::posix_spawn_file_actions_adddup2(&actions, input, 0);
  }
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  ::posix_spawn_file_actions_adddup2(&actions, errors, 2);
  pid_t child = 0;
  const int error =
      ::posix_spawn(&child, program.c_str(), &actions, nullptr, exec_words(words).data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw SystemError("start " + program.string(), error);
  return child;
}

int wait_for_process(pid_t child) {
  int status = 0;
  bool signalled = false;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw SystemError("wait for a program");
    if (stop_requested() && !signalled) signalled = ::kill(child, stop_signal()) == 0;
  }
  return status;
}

ProgramOutput read_program(const fs::path& program, const std::vector<std::string>& arguments,
                           int errors, int input) {
  Pipe pipe = make_pipe();
  const int output = pipe.writing.get();
  const pid_t child =
      start_process(program, arguments, input, output, errors < 0 ? output : errors);
  pipe.writing.reset();
  std::string text = read_to_end(pipe.reading, [&] {
    if (stop_requested()) ::kill(child, stop_signal());
  });
  return {std::move(text), wait_for_process(child)};
}

}  // namespace thinpipe
