#include "netem/real_nic/nic.h"

#include <net/if.h>
#include <netlink/addr.h>
#include <netlink/cache.h>
#include <netlink/errno.h>
#include <netlink/route/link.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "netem/file_descriptor.h"
#include "netem/link/netlink.h"
#include "netem/link/shaping.h"
#include "netem/real_nic/saved_qdiscs.h"

namespace thinpipe {
namespace {

template <typename Action>
void for_each(nl_cache* cache, Action action) {
  for (nl_object* object = nl_cache_get_first(cache); object != nullptr;
       object = nl_cache_get_next(object))
    action(object);
}

class Interfaces {
 public:
  explicit Interfaces(const NetlinkSocket& kernel) {
    nl_cache* raw = nullptr;
    check_netlink(rtnl_link_alloc_cache(kernel.get(), AF_UNSPEC, &raw), "read the interfaces");
    cache_.reset(raw);
  }

  // Returns the interface and all interfaces below: members of a bond or bridge, parent of a VLAN.
  std::set<int> with_lower(int top) const {
    std::set<int> found = {top};
    for (std::size_t before = 0; before != found.size();) {
      before = found.size();
      for_each(cache_.get(), [&](nl_object* object) {
        auto* link = reinterpret_cast<rtnl_link*>(object);
        const int index = rtnl_link_get_ifindex(link);
        if (found.contains(rtnl_link_get_master(link))) found.insert(index);
        // IFLA_LINK normally names the lower interface. A veth's IFLA_LINK names its peer instead.
        // An IFLA_LINK in another namespace does not count either.
        const char* kind = rtnl_link_get_type(link);
        int elsewhere = 0;
        if (found.contains(index) && rtnl_link_get_link(link) > 0 &&
            rtnl_link_get_link_netnsid(link, &elsewhere) != 0 &&
            (kind == nullptr || std::string(kind) != "veth"))
          found.insert(rtnl_link_get_link(link));
      });
    }
    return found;
  }

  std::string name(int index) const {
    char buffer[64] = {};
    const char* name = rtnl_link_i2name(cache_.get(), index, buffer, sizeof(buffer));
    return name != nullptr ? name : std::to_string(index);
  }

 private:
  NetlinkOwned<nl_cache> cache_;
};

std::set<int> egress_interfaces(rtnl_route* route) {
  std::set<int> indices;
  for (int hop = 0; hop < rtnl_route_get_nnexthops(route); ++hop)
    indices.insert(rtnl_route_nh_get_ifindex(rtnl_route_nexthop_n(route, hop)));
  return indices;
}

// Returns the egress interfaces of all default routes.
std::set<int> default_routes(const NetlinkSocket& kernel) {
  nl_cache* raw = nullptr;
  check_netlink(rtnl_route_alloc_cache(kernel.get(), AF_UNSPEC, 0, &raw), "read the routes");
  const NetlinkOwned<nl_cache> cache(raw);
  std::set<int> found;
  for_each(raw, [&](nl_object* object) {
    auto* route = reinterpret_cast<rtnl_route*>(object);
    nl_addr* destination = rtnl_route_get_dst(route);
    if (rtnl_route_get_type(route) == RTN_UNICAST &&
        (destination == nullptr || nl_addr_get_prefixlen(destination) == 0))
      found.merge(egress_interfaces(route));
  });
  return found;
}

// Returns the egress interface towards the address; 0 for a local address or without a route.
int egress_to(const NetlinkSocket& kernel, const std::string& address) {
  // A link-local address names its interface: fe80::1%eth0.
  if (const std::size_t scope = address.find('%'); scope != std::string::npos)
    return static_cast<int>(if_nametoindex(address.c_str() + scope + 1));
  nl_addr* parsed = nullptr;
  if (nl_addr_parse(address.c_str(), AF_UNSPEC, &parsed) < 0)
    throw InputError(fmt::format("'{}' is not an IP address", address));
  const NetlinkOwned<nl_addr> destination(parsed);
  rtnl_route* raw = nullptr;
  const int result = rtnl_route_lookup(kernel.get(), parsed, &raw);
  if (result < 0) return 0;
  const NetlinkOwned<rtnl_route> route(raw);
  if (rtnl_route_get_type(raw) != RTN_UNICAST) return 0;
  const std::set<int> indices = egress_interfaces(raw);
  return indices.empty() ? 0 : *indices.begin();
}

// Returns the qdiscs for the interface. A token bucket drops every frame that is larger than
// itself, so bucket and queue must fit the interface's MTU rather than a link's default MTU.
Shaping shaping_on(const std::string& interface, const LinkSpec& link) {
  LinkSpec fitted = link;
  fitted.mtu = Netlink().mtu(interface);
  for (const auto& [key, bytes] :
       {std::pair{"burst", link.up.burst}, std::pair{"queue", link.up.queue}})
    if (bytes > 0 && bytes < fitted.frame_bytes())
      throw InputError(
          fmt::format("link '{}': {}={} is smaller than a frame of {} ({} bytes at its MTU of {})",
                      link.to_string(), key, bytes, interface, fitted.frame_bytes(), fitted.mtu));
  Shaping shaping = shaping_of(fitted).host;
  constexpr std::uint32_t kOffset = kOurHandle - TrafficHandle().handle;
  for (ShapingStep& step : shaping) {
    step.at.handle += kOffset;
    if (step.at.parent != TrafficHandle().parent) step.at.parent += kOffset;
  }
  return shaping;
}

// The guard.

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

// @throws InputError or RunError if the interface must not be throttled.
void check_interface(const GuardOptions& options) {
  interface_index(options.interface);  // throws if there is no such interface
  Netlink netlink;
  if (netlink.is_loopback(options.interface))
    throw InputError(options.interface +
                     " is the loopback interface, which ranks on other hosts do not use");
  if (!netlink.is_up(options.interface)) throw RunError(options.interface + " is down");
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
      // At most a second at once, since poll's clock stops while the machine is suspended.
      const int ready = poll(waiting, 2, static_cast<int>(std::clamp(left, 0.0, 1.0) * 1000) + 1);
      if (ready < 0 && errno != EINTR) throw SystemError("poll");
      // Words that came in time count, even if this process could not read them in time.
      if (ready == 0 && left <= 0)
        return restore(fmt::format("lease expired after {:g} s of silence", options_.lease));
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

std::vector<std::string> controlling_addresses() {
  std::vector<std::string> addresses;
  if (const char* ssh = std::getenv("SSH_CONNECTION")) {
    const std::string client = split(ssh, ' ')[0];
    // sshd names a client UNKNOWN that has no address, as under inetd on a pipe.
    if (!client.empty() && client != "UNKNOWN") addresses.push_back(client);
  }
  if (const char* launcher = std::getenv("SLURM_LAUNCH_NODE_IPADDR"))
    if (*launcher != '\0') addresses.emplace_back(launcher);
  return addresses;
}

std::vector<std::string> burdens_of(const std::string& interface,
                                    const std::vector<std::string>& controllers) {
  const NetlinkSocket kernel = open_rtnetlink();
  const int ours = interface_index(interface);
  const Interfaces interfaces(kernel);
  std::vector<std::string> burdens;
  const auto consider = [&](int egress, const std::string& what) {
    if (egress == 0 || !interfaces.with_lower(egress).contains(ours)) return;
    burdens.push_back(egress == ours ? fmt::format("{} carries {}", interface, what)
                                     : fmt::format("{} is below {}, which carries {}", interface,
                                                   interfaces.name(egress), what));
  };
  for (const int egress : default_routes(kernel)) consider(egress, "the default route");
  std::set<std::string> seen;
  for (const std::string& address : controllers)
    if (seen.insert(address).second)
      consider(egress_to(kernel, address),
               fmt::format("the connection to {}, which controls this host", address));
  return burdens;
}

std::string why_not_on_a_nic(const LinkSpec& link) {
  const LinkSpec plain;
  if (!link.up.impairment.none() || !link.down.impairment.none() || link.needs_single_frames())
    return "a real interface supports only rate, burst, queue and shaper=htb";
  if (link.up.rate == 0 || link.up != link.down)
    return "a real interface needs one rate, equal for uplink and downlink";
  if (link.place != plain.place) return "place=switch needs an emulated switch";
  if (link.seed) return "a real interface has no netem, so it takes no seed";
  if (link.mtu != plain.mtu) return "thinpipe does not change the MTU of a real interface";
  return "";
}

void throttle_nic(const std::string& interface, const LinkSpec& link) {
  if (const std::string reason = why_not_on_a_nic(link); !reason.empty())
    throw InputError(fmt::format("link '{}': {}", link.to_string(), reason));
  const Shaping shaping = shaping_on(interface, link);
  Netlink netlink;
  install(netlink, interface, shaping);
}

std::vector<std::string> nic_drift(const std::string& interface, const LinkSpec& link) {
  Netlink netlink;
  return differences(netlink, interface, shaping_on(interface, link));
}

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
    say(out, fmt::format("guarding {} {}", Netlink().mtu(options.interface), had));
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
