#include "netem/host_program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>

#include "base/clock.h"
#include "base/error.h"
#include "base/programs.h"
#include "netem/sandbox.h"

extern char** environ;

namespace thinpipe {

namespace {

constexpr int kShellOffset = 128;  // added to a signal's number in exit codes
constexpr int kPollMilliseconds = 10;

using Clock = std::chrono::steady_clock;

// A new program inherits ignored and blocked signals, so both are reset, except for `nohup`.
// @param own_group  the program gets a process group of its own
void set_signals(posix_spawnattr_t& attributes, bool own_group) {
  sigset_t usual, none;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&usual, number);
  struct sigaction hangup = {};
  sigaction(SIGHUP, nullptr, &hangup);
  if (hangup.sa_handler != SIG_IGN) sigaddset(&usual, SIGHUP);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setsigmask(&attributes, &none);
  int flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
  if (own_group) flags |= POSIX_SPAWN_SETPGROUP;  // its number is the program's
  posix_spawnattr_setflags(&attributes, static_cast<short>(flags));
}

// The programs that run, and what waitpid() said of those that reap_orphans() collected.
std::mutex g_mutex;
std::set<pid_t> g_running;
std::map<pid_t, int> g_ended;

}  // namespace

void reap_orphans() {
  if (getpid() != 1) return;
  const std::lock_guard lock(g_mutex);
  int status = 0;
  for (pid_t process; (process = waitpid(-1, &status, WNOHANG)) > 0;)
    if (g_running.contains(process)) g_ended[process] = status;
}

HostProgram::HostProgram(const Host& host, const std::vector<std::string>& words, Streams streams,
                         int output)
    : host_(host) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const bool own_group = output >= 0 || streams != Streams::kOurs;
  set_signals(attributes, own_group);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  Pipe kept;
  if (output < 0 && streams == Streams::kKept) {
    kept = make_pipe();
    reading_ = std::move(kept.reading);
    output = kept.writing.get();
  }
  if (own_group) posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (output >= 0) {
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  }
  int failed = 0;
  const std::lock_guard lock(g_mutex);  // so that reap_orphans() knows the program from its begin
  // A process starts in the namespaces of the thread that creates it.
  host.inside([&] {
    failed =
        posix_spawnp(&process_, arguments[0], &actions, &attributes, arguments.data(), environ);
  });
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  // If PATH has a folder that may not be read, posix_spawnp reports that for a program that no
  // folder has.
  const bool by_name = words[0].find('/') == std::string::npos;
  if (failed == EACCES && by_name && !find_in_path(words[0])) failed = ENOENT;
  if (failed != 0) {
    process_ = -1;
    throw SystemError("run '" + words[0] + "' on " + host.name(), failed);
  }
  if (own_group) group_ = process_;
  g_running.insert(process_);
}

HostProgram::~HostProgram() { end(); }

void HostProgram::end() {
  if (has_ended()) return;
  signal_group(SIGKILL);
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  const std::lock_guard lock(g_mutex);
  g_running.erase(process_);
  process_ = -1;
}

bool HostProgram::has_ended() {
  if (process_ < 0) return true;
  const std::lock_guard lock(g_mutex);
  if (const auto found = g_ended.find(process_); found != g_ended.end()) {
    status_ = found->second;
    g_ended.erase(found);
  } else if (waitpid(process_, &status_, WNOHANG) != process_) {
    return false;
  }
  g_running.erase(process_);
  process_ = -1;
  return true;
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
  const auto begin = Clock::now();
  const auto is_over = [&] { return seconds_since(begin) >= seconds || stop_requested(); };
  while (reading_.valid() && read_some(kPollSeconds)) {
    if (!is_over()) continue;
    end();
    return -1;
  }
  // A program may run on after it has closed its output.
  for (; !has_ended(); poll(nullptr, 0, kPollMilliseconds)) {
    if (is_over()) {
      end();
      return -1;
    }
    reap_orphans();
  }
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
}

int HostProgram::wait_and_pass_on_stops() {
  // Polls the flag: a stop may be requested at any moment, also before this call.
  for (bool passed_on = false; !has_ended(); poll(nullptr, 0, kPollMilliseconds)) {
    if (stop_requested() && !passed_on) passed_on = kill(process_, stop_signal()) == 0;
    reap_orphans();
  }
  return *exit_code();
}

std::optional<int> HostProgram::exit_code() {
  if (!has_ended()) return std::nullopt;
  return WIFSIGNALED(status_) ? kShellOffset + WTERMSIG(status_) : WEXITSTATUS(status_);
}

void HostProgram::signal(int number) {
  if (!has_ended()) kill(process_, number);
}

void HostProgram::signal_group(int number) {
  if (group_ > 0) kill(-group_, number);
}

bool HostProgram::wait_until_listening(std::size_t before, double seconds) {
  const auto begin = Clock::now();
  while (listening_sockets(host_) <= before) {
    if (has_ended() || stop_requested() || seconds_since(begin) > seconds) return false;
    poll(nullptr, 0, kPollMilliseconds);
  }
  return true;
}

std::size_t listening_sockets(const Host& host) {
  std::size_t count = 0;
  host.inside([&] {
    for (const char* kind : {"tcp", "tcp6", "udp", "udp6"}) {
      std::ifstream table(std::string("/proc/thread-self/net/") + kind);
      std::string line, number, local, remote, state;
      std::getline(table, line);  // the header
      while (std::getline(table, line)) {
        std::istringstream columns(line);
        columns >> number >> local >> remote >> state;
        count += state == "0A" || state == "07";  // TCP_LISTEN; unconnected UDP
      }
    }
  });
  return count;
}

}  // namespace thinpipe
