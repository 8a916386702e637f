#include "netem/host.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {
namespace {

FileDescriptor open_namespace(const char* kind) {
  // /proc/self would name the namespaces of the process's first thread.
  const std::string path = fmt::format("/proc/thread-self/ns/{}", kind);
  FileDescriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor.valid()) throw SystemError("open " + path);
  return descriptor;
}

void enter(const FileDescriptor& descriptor, int kind) {
  if (setns(descriptor.get(), kind) != 0) throw SystemError("enter a namespace");
}

// Calls `leave`, which takes the thread out of its namespaces, and `action`. Then returns to the
// namespaces, also when `action` throws.
void go_and_return(const std::function<void()>& leave, const std::function<void()>& action) {
  const FileDescriptor network = open_namespace("net"), uts = open_namespace("uts");
  leave();
  std::exception_ptr error;
  try {
    action();
  } catch (...) {
    error = std::current_exception();
  }
  enter(network, CLONE_NEWNET);
  enter(uts, CLONE_NEWUTS);
  if (error) std::rethrow_exception(error);
}

std::string descriptor_path(const FileDescriptor& descriptor) {
  // Not getpid(): where /proc could not be mounted anew, it numbers the processes of the outer
  // namespace.
  return fmt::format("/proc/{}/fd/{}", std::filesystem::read_symlink("/proc/self").string(),
                     descriptor.get());
}

std::string path_of(std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');
  return "/proc/sys/" + name;
}

std::string read_value(const std::string& name) {
  std::ifstream file(path_of(name));
  std::string value;
  std::getline(file, value);
  std::replace(value.begin(), value.end(), '\t', ' ');
  return file || !value.empty() ? value : "unreadable";
}

// Returns the value afterwards, which is another one where the kernel refuses.
std::string set_value(const std::string& name, const std::string& value) {
  std::ofstream(path_of(name)) << value << std::flush;
  return read_value(name);
}

// Neighbour discovery would cross the measured links.
constexpr const char* kDisableIpv6[] = {"net.ipv6.conf.all.disable_ipv6",
                                        "net.ipv6.conf.default.disable_ipv6"};

}  // namespace

Host::Host(std::string name) : name_(std::move(name)) {
  const auto leave = [this] {
    if (unshare(CLONE_NEWNET | CLONE_NEWUTS) == 0) return;
    const int error = errno;
    throw SystemError(fmt::format("create the namespaces of host {}{}", name_,
                                  error == ENOSPC ? " (see sysctl user.max_net_namespaces)" : ""),
                      error);
  };
  go_and_return(leave, [this] {
    network_ = open_namespace("net");
    uts_ = open_namespace("uts");
    if (sethostname(name_.c_str(), name_.size()) != 0)
      throw SystemError(fmt::format("set the hostname {}", name_));
  });
}

std::string Host::network_path() const { return descriptor_path(network_); }
std::string Host::uts_path() const { return descriptor_path(uts_); }

void Host::inside(const std::function<void()>& action) const {
  const auto leave = [this] { enter(network_, CLONE_NEWNET); };
  go_and_return(leave, [&] {
    enter(uts_, CLONE_NEWUTS);
    action();
  });
}

std::map<std::string, std::int64_t> Host::protocol_counters(const std::string& protocol) const {
  std::map<std::string, std::int64_t> counters;
  inside([&] {
    // Two lines per protocol: names, then values.
    std::ifstream file("/proc/thread-self/net/snmp");
    std::string names, values;
    while (std::getline(file, names) && std::getline(file, values)) {
      if (!names.starts_with(protocol + ":")) continue;
      std::istringstream name_words(names.substr(protocol.size() + 1));
      std::istringstream value_words(values.substr(protocol.size() + 1));
      std::string name;
      for (std::int64_t value; name_words >> name && value_words >> value;) counters[name] = value;
    }
  });
  return counters;
}

std::map<std::string, std::string> tune_tcp() {
  std::map<std::string, std::string> in_force;
  const auto set = [&](const char* name, const char* value) {
    in_force[name] = set_value(name, value);
  };
  // Otherwise every compute phase resets the congestion window.
  set("net.ipv4.tcp_slow_start_after_idle", "0");
  // Otherwise cached path metrics of one point influence the next.
  set("net.ipv4.tcp_no_metrics_save", "1");
  // Most training clusters run CUBIC. Outside the initial namespace kernels refuse most others.
  set("net.ipv4.tcp_congestion_control", "cubic");
  for (const char* name : kDisableIpv6) set(name, "1");
  for (const char* name : {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_timestamps"})
    in_force[name] = read_value(name);
  return in_force;
}

void widen_tcp_buffers(double window, std::map<std::string, std::string>& in_force) {
  // Half of a buffer is for the kernel's per-packet overhead (tcp_adv_win_scale).
  constexpr double kBookkeeping = 2, kMax = 1e9;
  const auto wanted = static_cast<long long>(std::min(kBookkeeping * window, kMax));
  for (const char* name : {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}) {
    long long least = 0, initial = 0, most = 0;
    if (!(std::ifstream(path_of(name)) >> least >> initial >> most) || most >= wanted) continue;
    in_force[name] = set_value(name, fmt::format("{} {} {}", least, initial, wanted));
  }
}

void forward_packets() {
  const std::string forwards = set_value("net.ipv4.ip_forward", "1");
  for (const char* name : kDisableIpv6) set_value(name, "1");
  if (forwards != "1")
    throw RunError("set net.ipv4.ip_forward to 1 in a switch: the value is " + forwards);
}

}  // namespace thinpipe
