#include "netem/probe.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <new>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/link/netlink.h"
#include "netem/link/qdisc.h"
#include "netem/link/shaping.h"
#include "netem/sandbox.h"

namespace thinpipe {

namespace {

// A result of the sandboxed child, in memory shared with its parent.
struct Verdict {
  bool available;
  char detail[160];
};

// The features that are tried in the child, in this order.
constexpr KernelFeature KernelFeatures::*kTried[] = {&KernelFeatures::veth, &KernelFeatures::bridge,
                                                     &KernelFeatures::ifb,  &KernelFeatures::tbf,
                                                     &KernelFeatures::htb,  &KernelFeatures::netem};
using Verdicts = std::array<Verdict, std::size(kTried)>;

template <typename Attempt>
void try_feature(Verdict& verdict, const char* success, const char* module, Attempt attempt) {
  std::string detail = success;
  try {
    attempt();
    verdict.available = true;
  } catch (const std::exception& error) {
    detail = fmt::format("neither in this kernel nor as module {} ({})", module, error.what());
  }
  detail.resize(std::min(detail.size(), sizeof(verdict.detail) - 1));
  std::memcpy(verdict.detail, detail.c_str(), detail.size() + 1);
}

// Returns the qdiscs of a star's switch port.
Shaping port_shaping(const char* link) { return shaping_of(parse_link_spec(link)).port; }

void probe_inside(Verdicts& found) {
  auto& [veth, bridge, ifb, tbf, htb, netem] = found;
  Netlink netlink;
  const int own = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  try_feature(veth, "a veth pair was created", "veth", [&] { netlink.add_veth("a0", "a1", own); });
  try_feature(bridge, "a bridge was created", "bridge", [&] { netlink.add_link("b0", "bridge"); });
  const std::string device = veth.available ? "a0" : "lo";
  try_feature(ifb, "frames were redirected to an IFB", "ifb, cls_u32 or act_mirred", [&] {
    netlink.add_link("i0", "ifb");
    netlink.redirect_arrivals(device, "i0");
  });
  try_feature(tbf, "a qdisc was set and read back", "sch_tbf",
              [&] { install(netlink, device, port_shaping("rate=100mbit")); });
  try_feature(htb, "a qdisc was set and read back", "sch_htb",
              [&] { install(netlink, device, port_shaping("rate=100mbit,shaper=htb")); });
  try_feature(netem, "a qdisc was set and read back", "sch_netem",
              [&] { install(netlink, device, port_shaping("delay=1ms")); });
}

// Limits.

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

KernelFeatures probe_kernel() {
  KernelFeatures features;
  void* memory =
      mmap(nullptr, sizeof(Verdicts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw SystemError("map shared memory");
  auto* verdicts = new (memory) Verdicts{};
  try {
    const int result = run_in_sandbox([&](const Sandbox&) {
      probe_inside(*verdicts);
      return 0;
    });
    features.namespaces.available = result == 0;
    features.namespaces.detail = result == 0
                                     ? "user, network, UTS, PID and mount namespaces were created"
                                     : "namespaces were created but could not be set up";
  } catch (const RunError& error) {
    features.namespaces.detail = error.what();
  }
  for (std::size_t i = 0; i < std::size(kTried); ++i) {
    const auto& [available, detail] = (*verdicts)[i];
    features.*kTried[i] =
        features.namespaces.available
            ? KernelFeature{available, detail}
            : KernelFeature{false, "not tried, since namespaces could not be created"};
  }
  munmap(memory, sizeof(Verdicts));
  return features;
}

std::string missing_for(const LinkSpec& link, const KernelFeatures& features) {
  const auto text = [&](const char* feature, const char* keys, const KernelFeature& found,
                        const char* module, const char* without) {
    return fmt::format(
        "link '{}' needs {} (because of {}), which this kernel lacks: {}. If the kernel has it as "
        "a module, `modprobe {}` as root loads the module. Without it, {}",
        link.to_string(), feature, keys, found.detail, module, without);
  };
  if (link.needs_netem() && !features.netem.available)
    return text("netem", "delay, jitter, loss, reorder, duplicate, corrupt or shaper=netem",
                features.netem, "sch_netem",
                "links with rate, burst, queue, overhead, mtu, place and shaper=tbf or htb work");
  if (link.needs_ifb() && !features.ifb.available)
    return text("IFB", "place=switch or an impairment of the uplink", features.ifb, "ifb",
                "links shaped at the sender (place=sender) and impaired on the downlink work");
  if (link.needs_htb() && !features.htb.available)
    return text("HTB", "shaper=htb", features.htb, "sch_htb",
                "links with shaper=tbf work and reach the same rates");
  return "";
}

void require_kernel_features(const std::vector<LinkSpec>& links) {
  for (const LinkSpec& link : links)
    for (const Impairment& one : {link.up.impairment, link.down.impairment})
      if (one.distribution == DelayDistribution::kTable) table_of(one);
  const bool plain = std::none_of(links.begin(), links.end(), [](const LinkSpec& link) {
    return link.needs_netem() || link.needs_ifb() || link.needs_htb();
  });
  if (plain) return;
  const KernelFeatures features = probe_kernel();
  if (stop_requested()) throw RunError("interrupted");
  for (const LinkSpec& link : links)
    if (const std::string missing = missing_for(link, features); !missing.empty())
      throw RunError(missing);
}

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
