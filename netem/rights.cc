#include "netem/rights.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

namespace thinpipe {

std::vector<std::string> missing_rights() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  // Where the kernel does not tell, what needs a right will say so itself.
  if (syscall(SYS_capget, &header, data) != 0) return {};
  std::vector<std::string> missing;
  const auto look = [&](unsigned number, const char* name) {
    if ((data[CAP_TO_INDEX(number)].effective & CAP_TO_MASK(number)) == 0)
      missing.emplace_back(name);
  };
  look(CAP_NET_ADMIN, "CAP_NET_ADMIN");  // interfaces, addresses, qdiscs
  look(CAP_SYS_ADMIN, "CAP_SYS_ADMIN");  // namespaces: to make and to enter them
  return missing;
}

std::string rights_advice() {
  const std::vector<std::string> missing = missing_rights();
  if (missing.empty()) return "";
  return fmt::format(
      "; this process lacks {}, without which there are no emulated {}: start thinpipe with {}, as "
      "root or in a container that is given {} (docker run --privileged), or as an ordinary user "
      "who may make user namespaces",
      fmt::join(missing, " and "), missing[0] == "CAP_NET_ADMIN" ? "links" : "hosts",
      missing.size() > 1 ? "them" : "it", missing.size() > 1 ? "them" : "it");
}

}  // namespace thinpipe
