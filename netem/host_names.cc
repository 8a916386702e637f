#include "netem/host_names.h"

#include <sys/mount.h>

#include <fstream>

#include <fmt/format.h>

namespace thinpipe {

bool name_hosts(const Network& network, const std::string& scratch) {
  const std::string path = scratch + "/hosts";
  std::ofstream file(path);
  file << "127.0.0.1 localhost\n::1 localhost\n";
  for (int i = 0; i < network.size(); ++i)
    file << network.data_address(i) << ' ' << network.host(i).name() << '\n';
  file.close();
  return file && mount(path.c_str(), "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
}

std::string host_addresses(const Network& network) {
  std::string text;
  for (int i = 0; i < network.size(); ++i)
    text +=
        fmt::format("{}{}={}", i > 0 ? " " : "", network.host(i).name(), network.data_address(i));
  return text;
}

}  // namespace thinpipe
