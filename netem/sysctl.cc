#include "netem/sysctl.h"

#include <algorithm>
#include <fstream>
#include <utility>

namespace thinpipe {

namespace {

std::string path_of(std::string name) {
  std::replace(name.begin(), name.end(), '.', '/');
  return "/proc/sys/" + name;
}

std::string read(const std::string& name) {
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
    in_force[name] = read(name);
  }
  for (const char* name : {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_timestamps"})
    in_force[name] = read(name);
  return in_force;
}

}  // namespace thinpipe
