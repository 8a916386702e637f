#include "netem/host_process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/sandbox.h"

namespace thinpipe {

namespace {

constexpr int kShellOffset = 128;  // of exit codes that tell of a signal

std::string address_table(const Network& network) {
  std::string text;
  for (int i = 0; i < network.size(); ++i)
    text +=
        fmt::format("{}{}={}", i > 0 ? " " : "", network.host(i).name(), network.data_address(i));
  return text;
}

// In the new process: only becomes the command, or leaves the reason in the pipe.
[[noreturn]] void become(const Host& host, const std::vector<char*>& words, int report) {
  const FileDescriptor uts(open(host.uts_path().c_str(), O_RDONLY | O_CLOEXEC));
  if (setns(host.network_namespace(), CLONE_NEWNET) == 0 && setns(uts.get(), CLONE_NEWUTS) == 0) {
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    execvp(words[0], words.data());
  }
  const int error = errno;
  if (write(report, &error, sizeof(error)) < 0) _exit(1);
  _exit(1);
}

}  // namespace

pid_t start_on_host(const Network& network, int host, const std::vector<std::string>& command) {
  if (command.empty() || command[0].empty()) throw InputError("the command is empty");
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const Host& there = network.host(host);
  setenv("THINPIPE_HOST", there.name().c_str(), 1);
  setenv("THINPIPE_HOST_ADDRESSES", address_table(network).c_str(), 1);
  int ends[2];  // closed by a successful exec
  if (pipe2(ends, O_CLOEXEC) != 0) throw SystemError("pipe");
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t process = fork();
  if (process < 0) throw SystemError("start a process on " + there.name());
  if (process == 0) become(there, words, write_end.get());
  write_end.reset();
  int error = 0;
  ssize_t got;
  do got = read(read_end.get(), &error, sizeof(error));
  while (got < 0 && errno == EINTR);
  if (got != sizeof(error)) return process;
  waitpid(process, nullptr, 0);
  const std::string attempt = fmt::format("run '{}' on {}", command[0], there.name());
  if (error == ENOENT || error == EACCES)
    throw InputError(fmt::format("{}: {}", attempt, std::strerror(error)));
  throw SystemError(attempt, error);
}

int wait_for_process(pid_t process) {
  int status = 0;
  bool passed_on = false;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) throw SystemError("wait for the command");
    if (stop_requested() && !passed_on) passed_on = kill(process, stop_signal()) == 0;
  }
  return WIFSIGNALED(status) ? kShellOffset + WTERMSIG(status) : WEXITSTATUS(status);
}

bool name_hosts(const Network& network, const std::string& scratch) {
  const std::string path = scratch + "/hosts";
  std::ofstream file(path);
  file << "127.0.0.1 localhost\n::1 localhost\n";
  for (int i = 0; i < network.size(); ++i)
    file << network.data_address(i) << ' ' << network.host(i).name() << '\n';
  file.close();
  return file && mount(path.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
}

}  // namespace thinpipe
