#include "netem/limits.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {
namespace {

// Standard streams, records, trace, plug-ins, pipes, own sockets: some 20 as measured.
constexpr rlim_t kSpareFiles = 64;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

// Returns the least process limit of this process's control group and of the groups above it
// (cgroup v2).
std::uint64_t control_group_limit() {
  std::ifstream self("/proc/self/cgroup");
  std::uint64_t least = kNoLimit;
  for (std::string line; std::getline(self, line);) {
    if (line.rfind("0::", 0) != 0) continue;
    for (std::string group = line.substr(3);; group.resize(group.rfind('/'))) {
      std::uint64_t limit = 0;
      if (std::ifstream("/sys/fs/cgroup" + group + "/pids.max") >> limit)
        least = std::min(least, limit);  // "max" does not parse
      if (group.find('/') == std::string::npos) break;
    }
  }
  return least;
}

}  // namespace

std::vector<std::string> missing_rights() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  // If the kernel does not report capabilities, the call that needs one reports its own error.
  if (syscall(SYS_capget, &header, data) != 0) return {};
  std::vector<std::string> missing;
  const auto look = [&](unsigned number, const char* name) {
    if ((data[CAP_TO_INDEX(number)].effective & CAP_TO_MASK(number)) == 0)
      missing.emplace_back(name);
  };
  look(CAP_NET_ADMIN, "CAP_NET_ADMIN");  // interfaces, addresses, qdiscs
  look(CAP_SYS_ADMIN, "CAP_SYS_ADMIN");  // create and enter namespaces
  return missing;
}

std::string rights_advice() {
  const std::vector<std::string> missing = missing_rights();
  if (missing.empty()) return "";
  return fmt::format(
      "; this process lacks {}, which emulated {} need. Start thinpipe as root, in a container "
      "with {} (docker run --privileged), or as an ordinary user who may create user namespaces",
      fmt::join(missing, " and "), missing[0] == "CAP_NET_ADMIN" ? "links" : "hosts",
      missing.size() > 1 ? "these capabilities" : "this capability");
}

void allow_open_files(std::uint64_t files, const std::string& what) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) throw SystemError("read the limit of open files");
  const rlim_t needed = files + kSpareFiles;
  if (limit.rlim_cur >= needed) return;
  if (limit.rlim_max < needed)
    throw RunError(fmt::format(
        "{} need {} open files, but the limit is {} (ulimit -Hn). Raise the limit or use fewer "
        "hosts",
        what, needed, limit.rlim_max));
  limit.rlim_cur = needed;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    throw SystemError(fmt::format("raise the limit of open files to {}", needed));
}

void allow_processes() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NPROC, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NPROC, &limit);  // a refusal shows when the limit is reached
}

std::string process_limit_below(std::uint64_t tasks) {
  rlimit limit = {};
  std::uint64_t user = kNoLimit;
  if (getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    user = limit.rlim_cur;
  const std::uint64_t group = control_group_limit();
  if (std::min(user, group) >= tasks) return "";
  return fmt::format("the limit of processes and threads is {} ({})", std::min(user, group),
                     user <= group ? "ulimit -u" : "pids.max of the control group");
}

}  // namespace thinpipe
