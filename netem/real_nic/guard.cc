#include "netem/real_nic/guard.h"

#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "netem/file_descriptor.h"
#include "netem/link/link_spec.h"
#include "netem/link/netlink.h"
#include "netem/real_nic/nic.h"
#include "netem/real_nic/saved_qdiscs.h"

namespace thinpipe {

namespace {

constexpr std::size_t kLongestLine = 4096;

// This clock continues while the machine is suspended, so a lease expires meanwhile.
double boot_seconds() { return now_seconds(CLOCK_BOOTTIME); }

constexpr int kGuardStops[] = {SIGTERM, SIGINT, SIGQUIT};

sigset_t guard_stops() {
  sigset_t stops;
  sigemptyset(&stops);
  for (const int one : kGuardStops) sigaddset(&stops, one);
  return stops;
}

// Writes a line. A closed reader is no error.
void say(int out, std::string line) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  [[maybe_unused]] const ssize_t sent = write(out, line.data(), line.size());
}

ifreq ask_about(const std::string& interface, unsigned long what) {
  const FileDescriptor any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request = {};
  std::strncpy(request.ifr_name, interface.c_str(), IFNAMSIZ - 1);
  if (!any.valid() || ioctl(any.get(), what, &request) != 0)
    throw SystemError("query the interface " + interface);
  return request;
}

// @throws InputError or RunError if the interface must not be throttled.
void check_interface(const GuardOptions& options) {
  interface_index(options.interface);  // throws if there is no such interface
  const short flags = ask_about(options.interface, SIOCGIFFLAGS).ifr_flags;
  if ((flags & IFF_LOOPBACK) != 0)
    throw InputError(options.interface +
                     " is the loopback interface, which ranks on other hosts do not use");
  if ((flags & IFF_UP) == 0) throw RunError(options.interface + " is down");
  std::vector<std::string> controllers = options.controllers;
  for (std::string& address : controlling_addresses()) controllers.push_back(std::move(address));
  const std::vector<std::string> burdens = burdens_of(options.interface, controllers);
  if (!burdens.empty() && !options.anyway)
    throw InputError(
        fmt::format("{}. Use --shape-anyway to throttle it anyway", fmt::join(burdens, "; ")));
}

// The process that answers the sweep. run() returns with the interface restored, or throws.
class Keeper {
 public:
  Keeper(const GuardOptions& options, const StateFile& state, int in, int out)
      : options_(options), state_(state), in_(in), out_(out) {}

  void run() {
    const sigset_t stops = guard_stops();
    const FileDescriptor signals(signalfd(-1, &stops, SFD_CLOEXEC));
    if (!signals.valid()) throw SystemError("signalfd");
    double lease_ends = boot_seconds() + options_.lease;
    std::string received;
    for (;;) {
      pollfd waiting[] = {{in_, POLLIN, 0}, {signals.get(), POLLIN, 0}};
      const double left = lease_ends - boot_seconds();
      if (left <= 0)
        return restore(fmt::format("lease expired after {:g} s of silence", options_.lease));
      // At most a second at once, since poll's clock stops while the machine is suspended.
      const int ready = poll(waiting, 2, static_cast<int>(std::min(left, 1.0) * 1000) + 1);
      if (ready < 0 && errno != EINTR) throw SystemError("poll");
      if (ready <= 0) continue;
      if (waiting[1].revents != 0) return restore("ended by a signal");
      char buffer[512];
      const ssize_t got = read(in_, buffer, sizeof(buffer));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return restore("the sweep closed the connection");
      received.append(buffer, static_cast<std::size_t>(got));
      if (received.size() > kLongestLine) return restore("the sweep sent an overlong line");
      for (std::size_t end; (end = received.find('\n')) != std::string::npos;) {
        const std::string line = received.substr(0, end);
        received.erase(0, end + 1);
        if (line == "restore") return restore("requested");
        answer(line);
        lease_ends = boot_seconds() + options_.lease;
      }
    }
  }

 private:
  void answer(const std::string& line) {
    try {
      if (line == "renew") {
        say(out_, "renewed");
      } else if (line == "count") {
        const QdiscCounters counters = Netlink().root_counters(options_.interface);
        say(out_, fmt::format("counted {} {} {} {}", counters.bytes, counters.packets,
                              counters.drops, counters.backlog));
      } else if (line == "check") {
        const std::vector<std::string> found =
            link_ ? nic_drift(options_.interface, *link_) : std::vector<std::string>{};
        say(out_,
            found.empty() ? "checked same" : fmt::format("checked {}", fmt::join(found, "; ")));
      } else if (line.starts_with("link ")) {
        link_ = parse_link_spec(line.substr(5));
        throttle_nic(options_.interface, *link_);
        say(out_, "set " + line.substr(5));
      } else {
        say(out_, "error expected link, check, count, renew or restore, found '" + line + "'");
      }
    } catch (const std::exception& error) {
      say(out_, std::string("error ") + error.what());
    }
  }

  void restore(const std::string& why) const {
    const std::string how = finish(state_);
    say(out_, fmt::format("restored {} ({})", how, why));
  }

  const GuardOptions& options_;
  const StateFile& state_;
  std::optional<LinkSpec> link_;  // the last one set
  int in_, out_;
};

std::atomic<pid_t> g_keeper{0};
void pass_on(int signal_number) {
  if (g_keeper > 0) kill(g_keeper, signal_number);
}

StateFile take_hold(const GuardOptions& options) {
  std::optional<StateFile> held = StateFile::hold(options.interface);
  if (!held)
    throw RunError(fmt::format("{} is throttled already, by process {}", options.interface,
                               guard_of(options.interface)));
  if (held->read()) {  // a guard was killed together with its parent
    finish(*held);     // removes the file, and with it the lock
    return take_hold(options);
  }
  return std::move(*held);
}

// Checks everything and saves the interface's qdiscs, or throws without having changed anything.
StateFile prepare(const GuardOptions& options, std::string& had) {
  check_interface(options);
  StateFile file = take_hold(options);
  try {
    ShapedState state;
    state.interface = options.interface;
    state.index = interface_index(options.interface);
    state.network_namespace = network_namespace_number();
    state.guard = getpid();
    state.saved = read_qdiscs(state.index);
    const std::string obstacle = why_not_restorable(state.index, state.saved);
    if (!obstacle.empty())
      throw RunError(fmt::format("{} cannot be restored exactly: {}", options.interface, obstacle));
    had = state.saved[0].to_string();
    file.write(state);
  } catch (...) {
    file.remove();
    throw;
  }
  return file;
}

// Waits for the keeper. Restores the interface if the keeper was killed.
int stand_by(pid_t keeper, const StateFile& state) {
  int status = 0;
  while (waitpid(keeper, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr, "thinpipe-shape: signal %d ended the keeper; %s\n", WTERMSIG(status),
               finish(state).c_str());
  return kExitFailed;
}

}  // namespace

int run_guard(const GuardOptions& given, int in, int out) {
  GuardOptions options = given;
  std::string had;
  std::optional<StateFile> state;
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);  // a closed terminal or session; the end of `in` is what counts
  // Blocked before the state file exists, so that a signal leaves none behind, and until the
  // keeper has its signalfd.
  const sigset_t stops = guard_stops();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &stops, &before);
  try {
    // An interface may have alternative names, each of which would have a state file of its own.
    char name[IF_NAMESIZE];
    const int index = interface_index(options.interface);
    if (if_indextoname(static_cast<unsigned>(index), name) != nullptr) options.interface = name;
    state.emplace(prepare(options, had));
    say(out, fmt::format("guarding {} {}", ask_about(options.interface, SIOCGIFMTU).ifr_mtu, had));
  } catch (const std::exception& error) {
    say(out, std::string("refused ") + error.what());
    return dynamic_cast<const InputError*>(&error) != nullptr ? kExitUsage : kExitFailed;
  }
  const pid_t keeper = fork();
  if (keeper == 0) {
    setsid();
    int code = kExitGood;
    try {
      Keeper(options, *state, in, out).run();
    } catch (const std::exception& error) {
      say(out, std::string("error ") + error.what());
      code = kExitFailed;
    }
    _exit(code);
  }
  if (keeper < 0) {
    finish(*state);
    throw SystemError("fork");
  }
  g_keeper = keeper;
  for (const int one : kGuardStops) signal(one, pass_on);
  sigprocmask(SIG_SETMASK, &before, nullptr);
  close(in);  // the keeper alone keeps it open, so that the far end sees the keeper's death
  close(out);
  return stand_by(keeper, *state);
}

}  // namespace thinpipe
