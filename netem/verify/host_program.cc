#include "netem/verify/host_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <sstream>

#include "base/error.h"
#include "netem/sandbox.h"

extern char** environ;

namespace thinpipe {

bool is_installed(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (access((folder + "/" + name).c_str(), X_OK) == 0) return true;
  return false;
}

HostProgram::HostProgram(const Host& host, const std::vector<std::string>& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw SystemError("pipe");
  reading_ = FileDescriptor(ends[0]);
  const FileDescriptor writing(ends[1]);
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDERR_FILENO);
  int failed = 0;
  // It starts in the namespaces of the thread that makes it.
  host.inside([&] {
    failed = posix_spawnp(&process_, arguments[0], &actions, nullptr, arguments.data(), environ);
  });
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    process_ = -1;
    throw SystemError("start " + words[0], failed);
  }
}

HostProgram::~HostProgram() { end(); }

void HostProgram::end() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

bool HostProgram::read_some(double seconds) {
  pollfd waiting = {reading_.get(), POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(seconds * 1e3)) <= 0) return true;
  char text[4096];
  const ssize_t got = read(reading_.get(), text, sizeof(text));
  if (got > 0) output_.append(text, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && errno == EINTR);
}

int HostProgram::wait(double seconds) {
  constexpr double kPollSeconds = 0.05;
  const auto begin = std::chrono::steady_clock::now();
  while (read_some(kPollSeconds)) {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    if (passed.count() < seconds && !stop_requested()) continue;
    end();
    return -1;
  }
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace thinpipe
