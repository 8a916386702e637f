#include "netem/sandbox.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "base/visible.h"
#include "netem/file_descriptor.h"
#include "netem/probe.h"

namespace thinpipe {

namespace {

std::atomic<int> g_stop_signal{0};
std::atomic<pid_t> g_child{0};
std::atomic<int> g_forwarded{0};
std::atomic<const char*> g_folder{nullptr};  // of run_outside_sandbox()

bool g_inside = false;    // this process is the first of a sandbox
int g_machine_proc = -1;  // the /proc outside; open until this process ends

constexpr int kStopSignals[] = {SIGINT, SIGTERM, SIGHUP};

void note_stop(int signal_number) { g_stop_signal = signal_number; }

// Outside a sandbox no parent kills this process at the second signal.
void note_stop_once(int signal_number) {
  if (g_stop_signal != 0) {
    if (const char* const folder = g_folder) rmdir(folder);  // where nothing lies in it
    _exit(128 + signal_number);
  }
  g_stop_signal = signal_number;
}

// In the caller: forwards the first signal, and kills the sandbox at the second.
void forward_stop(int signal_number) {
  g_stop_signal = signal_number;
  const pid_t child = g_child;
  if (child > 0) kill(child, g_forwarded++ == 0 ? signal_number : SIGKILL);
}

class SignalHandlers {
 public:
  explicit SignalHandlers(void (*handler)(int)) {
    struct sigaction action = {};
    action.sa_handler = handler;  // no SA_RESTART: waits return and check the flag
    for (std::size_t i = 0; i < std::size(kStopSignals); ++i) {
      sigaction(kStopSignals[i], nullptr, &before_[i]);
      // By `nohup`, a job outlives its terminal. Shells also start jobs in the background with
      // SIGINT ignored, and these are to end by it all the same.
      if (kStopSignals[i] == SIGHUP && before_[i].sa_handler == SIG_IGN) continue;
      sigaction(kStopSignals[i], &action, nullptr);
    }
  }
  ~SignalHandlers() {
    for (std::size_t i = 0; i < std::size(kStopSignals); ++i)
      sigaction(kStopSignals[i], &before_[i], nullptr);
  }
  void ignore(int signal_number) const { signal(signal_number, SIG_IGN); }
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;

 private:
  struct sigaction before_[std::size(kStopSignals)];
};

void write_file(const char* path, const std::string& text) {
  const FileDescriptor file(open(path, O_WRONLY | O_CLOEXEC));
  if (!file.valid() || write(file.get(), text.data(), text.size()) < 0)
    throw SystemError(fmt::format("write {}", path));
}

// Makes the ordinary user root of the sandbox. Files created inside belong to the user outside.
void map_user(uid_t uid, gid_t gid) {
  write_file("/proc/self/setgroups", "deny");
  write_file("/proc/self/uid_map", fmt::format("0 {} 1", uid));
  write_file("/proc/self/gid_map", fmt::format("0 {} 1", gid));
}

// Blocks the stop signals in this thread, and in a process that it creates.
class BlockedStops {
 public:
  BlockedStops() {
    sigset_t stops;
    sigemptyset(&stops);
    for (const int number : kStopSignals) sigaddset(&stops, number);
    pthread_sigmask(SIG_BLOCK, &stops, &before_);
  }
  ~BlockedStops() { unblock(); }
  void unblock() const { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedStops(const BlockedStops&) = delete;
  BlockedStops& operator=(const BlockedStops&) = delete;

 private:
  sigset_t before_ = {};
};

// Mounts the tmpfs for scratch files and returns its path. The mount point must exist on every
// machine and be unused in the sandbox. /proc/fs is suitable: it has only file-system statistics,
// and the sandbox has its own /proc.
std::string mount_scratch() {
  if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
    throw SystemError("make mounts private (MS_PRIVATE)");
  if (g_machine_proc < 0) g_machine_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 &&
      mount("thinpipe", "/proc/fs", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") == 0)
    return "/proc/fs";
  // In containers that mask parts of /proc, mounting a new /proc is refused. /dev/shm is used
  // instead. It is in memory as well, and nothing else needs it, since ranks on emulated hosts
  // share no memory.
  if (mount("thinpipe", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0700") == 0)
    return "/dev/shm";
  throw SystemError("mount a private tmpfs on /proc/fs or /dev/shm");
}

// Open MPI tells emulated hosts apart by their names. The filter of system calls of podman's
// containers allows namespaces, but refuses sethostname() without CAP_SYS_ADMIN.
void check_hostnames_can_be_set() {
  char name[HOST_NAME_MAX + 1] = {};
  gethostname(name, sizeof(name) - 1);
  if (sethostname(name, std::strlen(name)) == 0) return;
  throw RunError(
      fmt::format("cannot name emulated hosts: {}. A container needs CAP_NET_ADMIN and "
                  "CAP_SYS_ADMIN (podman run --cap-add NET_ADMIN,SYS_ADMIN)",
                  std::strerror(errno)));
}

int body_result(const std::function<int(const Sandbox&)>& body, bool map, uid_t uid, gid_t gid,
                bool keyboard_to_commands, const BlockedStops& stops) {
  try {
    if (map) map_user(uid, gid);
    check_hostnames_can_be_set();
    allow_processes();
    const Sandbox sandbox{mount_scratch()};
    const SignalHandlers handlers(note_stop);
    if (keyboard_to_commands) handlers.ignore(SIGINT);
    stops.unblock();
    return body(sandbox);
  } catch (const InputError& error) {
    print_message(fmt::format("thinpipe: {}", error.what()));
    return kExitUsage;
  } catch (const std::exception& error) {
    print_message(fmt::format("thinpipe: {}{}", error.what(), rights_advice()));
    return stop_requested() ? 128 + stop_signal() : kExitFailed;
  }
}

std::string namespace_advice(int error) {
  std::string advice = fmt::format("cannot create namespaces: {}.", std::strerror(error));
  if (error == EPERM)
    advice +=
        " An ordinary user needs unprivileged user namespaces: set sysctl "
        "kernel.unprivileged_userns_clone=1 (Debian) or "
        "kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), or run thinpipe as root. A "
        "container needs CAP_SYS_ADMIN (docker run --privileged)";
  else if (error == ENOSPC || error == EUSERS)
    advice +=
        " A limit is 0 or reached: see sysctl user.max_user_namespaces and user.max_net_namespaces";
  else if (error == EINVAL)
    advice +=
        " The kernel lacks one of CONFIG_USER_NS, CONFIG_NET_NS, CONFIG_PID_NS, CONFIG_UTS_NS";
  return advice;
}

int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw SystemError("wait for the sandbox");
  if (WIFSIGNALED(status)) {
    if (g_forwarded > 0) return 128 + g_stop_signal;
    throw RunError(fmt::format("signal {} ({}) ended the emulation", WTERMSIG(status),
                               strsignal(WTERMSIG(status))));
  }
  return WEXITSTATUS(status);
}

}  // namespace

bool stop_requested() { return g_stop_signal != 0; }
int stop_signal() { return g_stop_signal; }

std::string machine_proc() {
  return g_machine_proc < 0 ? "/proc" : fmt::format("/proc/self/fd/{}", g_machine_proc);
}

void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

int run_outside_sandbox(const std::function<int(const Sandbox&)>& body) {
  std::error_code none;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(none);
  if (none)
    throw InputError(fmt::format("TMPDIR={}: no such folder for temporary files",
                                 in_quotes(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "")));
  std::string folder = (parent / "thinpipe-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw SystemError("create the folder " + folder);
  struct Removed {
    std::string path;
    ~Removed() {
      g_folder = nullptr;
      std::error_code none;
      std::filesystem::remove_all(path, none);
    }
  };
  const Removed removed{folder};
  g_folder = removed.path.c_str();
  g_stop_signal = 0;
  const SignalHandlers handlers(note_stop_once);
  return body(Sandbox{folder});
}

int run_in_sandbox(const std::function<int(const Sandbox&)>& body, bool keyboard_to_commands) {
  Pipe hello = make_pipe();  // child -> caller: PDEATHSIG is set
  Pipe go = make_pipe();     // caller -> child: begin
  const uid_t uid = geteuid();
  const gid_t gid = getegid();
  // Root without the capabilities gets them in a user namespace, like any other user.
  const bool map = uid != 0 || !missing_rights().empty();
  std::fflush(nullptr);  // otherwise both processes would print buffered output
  g_forwarded = 0;
  // Forgets a stop of an earlier sandbox, and keeps that of a sandbox around this one.
  if (g_folder == nullptr && !g_inside) g_stop_signal = 0;
  // Until both processes have their handlers, stops wait.
  const BlockedStops stops;
  const unsigned long flags = CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS |
                              (map ? CLONE_NEWUSER : 0UL) | SIGCHLD;
  const auto child = static_cast<pid_t>(syscall(SYS_clone, flags, nullptr, nullptr, nullptr, 0));
  if (child < 0) throw RunError(namespace_advice(errno) + (uid == 0 ? rights_advice() : ""));
  if (child == 0) {
    g_inside = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    hello.reading.reset();
    go.writing.reset();
    char byte = 'h';
    // If the caller died before prctl took effect, the write or the read fails.
    if (write(hello.writing.get(), &byte, 1) != 1 || read(go.reading.get(), &byte, 1) != 1)
      _exit(1);
    hello.writing.reset();
    const int result = body_result(body, map, uid, gid, keyboard_to_commands, stops);
    // A full disk, for example. A closed pipe is no error: its reader has enough.
    const bool lost = std::fflush(nullptr) != 0 && errno != EPIPE;
    if (lost)
      print_message(fmt::format("thinpipe: write to standard output: {}", std::strerror(errno)));
    _exit(lost && result == kExitGood ? kExitFailed : result);
  }
  g_child = child;
  const SignalHandlers handlers(forward_stop);
  if (keyboard_to_commands) handlers.ignore(SIGINT);
  stops.unblock();
  hello.writing.reset();
  go.reading.reset();
  char byte = 'g';
  if (read(hello.reading.get(), &byte, 1) != 1 || write(go.writing.get(), &byte, 1) != 1)
    kill(child, SIGKILL);
  const int result = wait_for(child);
  g_child = 0;
  return result;
}

}  // namespace thinpipe
