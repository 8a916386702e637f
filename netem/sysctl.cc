#include "netem/sysctl.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "base/error.h"

namespace thinpipe {

namespace {

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

std::map<std::string, std::string> tune_tcp() {
  static constexpr std::pair<const char*, const char*> kWanted[] = {
      // Else every compute phase closes the congestion window again.
      {"net.ipv4.tcp_slow_start_after_idle", "0"},
      // Else what one point learnt of the path would shape the next.
      {"net.ipv4.tcp_no_metrics_save", "1"},
      // What most training clusters run. Kernels refuse most choices outside the first namespace.
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
  // Half of a buffer is for the bookkeeping around what is in it (tcp_adv_win_scale).
  constexpr double kBookkeeping = 2, kMost = 1e9;
  const auto wanted = static_cast<long long>(std::min(kBookkeeping * window, kMost));
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
    throw RunError("set net.ipv4.ip_forward to 1 in a switch: it is " +
                   read_value("net.ipv4.ip_forward"));
}

}  // namespace thinpipe
