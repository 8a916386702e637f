#include "netem/host.h"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <fstream>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {
namespace {

FileDescriptor open_namespace(const char* kind) {
  const std::string path = fmt::format("/proc/self/ns/{}", kind);
  FileDescriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!descriptor.valid()) throw SystemError("open " + path);
  return descriptor;
}

void enter(const FileDescriptor& descriptor, int kind) {
  if (setns(descriptor.get(), kind) != 0) throw SystemError("enter a namespace");
}

std::string descriptor_path(const FileDescriptor& descriptor) {
  return fmt::format("/proc/{}/fd/{}", getpid(), descriptor.get());
}

// Returns the file of a sysctl.
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

}  // namespace

Host::Host(std::string name) : name_(std::move(name)) {
  const FileDescriptor network_before = open_namespace("net"), uts_before = open_namespace("uts");
  if (unshare(CLONE_NEWNET | CLONE_NEWUTS) != 0) {
    const int error = errno;
    throw SystemError(fmt::format("create the namespaces of host {}{}", name_,
                                  error == ENOSPC ? " (see sysctl user.max_net_namespaces)" : ""),
                      error);
  }
  std::exception_ptr error;
  try {
    network_ = open_namespace("net");
    uts_ = open_namespace("uts");
    if (sethostname(name_.c_str(), name_.size()) != 0)
      throw SystemError(fmt::format("set the hostname {}", name_));
  } catch (...) {
    error = std::current_exception();
  }
  enter(network_before, CLONE_NEWNET);
  enter(uts_before, CLONE_NEWUTS);
  if (error) std::rethrow_exception(error);
}

std::string Host::network_path() const { return descriptor_path(network_); }
std::string Host::uts_path() const { return descriptor_path(uts_); }

void Host::inside(const std::function<void()>& action) const {
  const FileDescriptor network_before = open_namespace("net"), uts_before = open_namespace("uts");
  enter(network_, CLONE_NEWNET);
  std::exception_ptr error;
  try {
    enter(uts_, CLONE_NEWUTS);
    action();
  } catch (...) {
    error = std::current_exception();
  }
  enter(network_before, CLONE_NEWNET);
  enter(uts_before, CLONE_NEWUTS);
  if (error) std::rethrow_exception(error);
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
  static constexpr std::pair<const char*, const char*> kWanted[] = {
      // Otherwise every compute phase resets the congestion window.
      {"net.ipv4.tcp_slow_start_after_idle", "0"},
      // Otherwise cached path metrics of one point influence the next.
      {"net.ipv4.tcp_no_metrics_save", "1"},
      // Most training clusters run CUBIC. Outside the initial namespace kernels refuse most others.
      {"net.ipv4.tcp_congestion_control", "cubic"},
      // Neighbour discovery would cross the measured links.
      {"net.ipv6.conf.all.disable_ipv6", "1"},
      {"net.ipv6.conf.default.disable_ipv6", "1"},
  };
  std::map<std::string, std::string> in_force;
  for (const auto& [name, value] : kWanted) {
    std::ofstream(path_of(name)) << value << std::flush;
    in_force[name] = read_value(name);
  }
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
    std::ofstream(path_of(name)) << least << ' ' << initial << ' ' << wanted << std::flush;
    in_force[name] = read_value(name);
  }
}

void forward_packets() {
  static constexpr std::pair<const char*, const char*> kWanted[] = {
      {"net.ipv4.ip_forward", "1"},
      // Neighbour discovery would cross the measured links.
      {"net.ipv6.conf.all.disable_ipv6", "1"},
      {"net.ipv6.conf.default.disable_ipv6", "1"},
  };
  for (const auto& [name, value] : kWanted) std::ofstream(path_of(name)) << value << std::flush;
  if (read_value("net.ipv4.ip_forward") != "1")
    throw RunError("set net.ipv4.ip_forward to 1 in a switch: the value is " +
                   read_value("net.ipv4.ip_forward"));
}

}  // namespace thinpipe
