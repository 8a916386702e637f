// What the kernel offers for emulating links.
#include "harness/doctor/kernel.h"

#include <sys/utsname.h>

#include <fstream>
#include <optional>

namespace thinpipe {
namespace {

using State = Finding::State;

std::optional<long long> setting(const std::filesystem::path& proc_sys, const char* name) {
  std::ifstream file(proc_sys / name);
  long long value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// The settings by which distributions forbid user namespaces to ordinary users.
std::string namespace_remedy(const std::filesystem::path& proc_sys) {
  std::string commands;
  const auto propose = [&](const char* assignment) {
    commands += std::string(commands.empty() ? "" : " and ") + "`sysctl -w " + assignment + "`";
  };
  if (setting(proc_sys, "kernel/unprivileged_userns_clone") == 0) {  // Debian
    propose("kernel.unprivileged_userns_clone=1");
  }
  if (setting(proc_sys, "user/max_user_namespaces") == 0) {
    propose("user.max_user_namespaces=15000");
  }
  if (setting(proc_sys, "kernel/apparmor_restrict_unprivileged_userns") == 1) {  // Ubuntu 23.10 on
    propose("kernel.apparmor_restrict_unprivileged_userns=0");
  }
  if (!commands.empty()) return "as root: " + commands;
  return "run as root, or allow user namespaces (in a container: its security profile)";
}

Finding feature(const char* name, const KernelFeature& found, State when_absent, const char* cost,
                const char* remedy) {
  const bool good = found.available;
  return {.group = "kernel",
          .name = name,
          .state = good ? State::kGood : when_absent,
          .found = found.detail,
          .cost = good ? "" : cost,
          .remedy = good ? "" : remedy};
}

}  // namespace

std::vector<Finding> kernel_findings(const KernelFeatures& features,
                                     const std::filesystem::path& proc_sys) {
  utsname system{};
  ::uname(&system);
  const char* no_emulation = "no link can be emulated: `run` and `net` do not work";
  std::vector<Finding> findings{
      {.group = "kernel",
       .name = "kernel",
       .found = std::string(system.sysname) + " " + system.release + " " + system.machine},
      feature("namespaces", features.namespaces, State::kFatal, no_emulation,
              namespace_remedy(proc_sys).c_str())};
  if (!features.namespaces.available) return findings;  // nothing else could be tried
  const std::vector<Finding> parts{
      feature("veth", features.veth, State::kFatal, no_emulation, "load or build module veth"),
      feature("bridge", features.bridge, State::kFatal, no_emulation,
              "load or build module bridge"),
      feature("TBF", features.tbf, State::kFatal, "no link can be throttled",
              "load or build module sch_tbf"),
      feature("HTB", features.htb, State::kAbsent,
              "links with shaper=htb are refused; TBF holds the same rates",
              "load or build module sch_htb"),
      feature("netem", features.netem, State::kAbsent,
              "links with delay, jitter, loss, reorder, duplicate, corrupt or shaper=netem are "
              "refused; rate, burst, queue, overhead and mtu work",
              "modprobe sch_netem, or a kernel with CONFIG_NET_SCH_NETEM"),
      feature("IFB", features.ifb, State::kAbsent,
              "links with place=switch or up.delay and its like are refused",
              "load or build modules ifb, cls_u32 and act_mirred")};
  findings.insert(findings.end(), parts.begin(), parts.end());
  return findings;
}

}  // namespace thinpipe
