#include "harness/doctor/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/machine/machine.h"
#include "harness/options/terminal.h"
#include "netem/real_nic/state_file.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

constexpr std::size_t kStateWidth = 10;
constexpr std::size_t kNameWidth = 14;
constexpr std::size_t kTextColumn = kStateWidth + kNameWidth;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

std::string under(const char* label, const std::string& text) {
  if (text.empty()) return "";
  return std::string(kTextColumn, ' ') +
         wrap(std::string(label) + text, kTextColumn + 2, kColumns, false) + "\n";
}

std::optional<long long> setting(const fs::path& proc_sys, const char* name) {
  std::ifstream file(proc_sys / name);
  long long value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

// Returns how to allow unprivileged user namespaces, given the settings that may forbid them.
std::string namespace_remedy(const fs::path& proc_sys) {
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
  return "run as root, or allow user namespaces (in a container: by its security profile)";
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

std::string gibibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
}

Finding governor_finding(const std::string& governor) {
  Finding finding{.group = "machine", .name = "governor", .found = governor};
  if (governor.empty()) {
    finding.found = "not exposed (usual in virtual machines)";
  } else if (governor != "performance") {
    finding.state = State::kNote;
    finding.cost = "the CPU clock varies with the load, and so do compress and decode times";
    finding.remedy = "as root: cpupower frequency-set -g performance";
  }
  return finding;
}

}  // namespace

const char* to_string(Finding::State state) {
  switch (state) {
    case State::kGood:
      return "good";
    case State::kNote:
      return "note";
    case State::kAbsent:
      return "absent";
    case State::kFatal:
      return "FATAL";
  }
  return "";
}

bool can_run(const std::vector<Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& finding) { return finding.state == State::kFatal; });
}

std::string to_text(const std::vector<Finding>& findings) {
  std::string text, group;
  for (const Finding& finding : findings) {
    if (finding.group != group) {
      group = finding.group;
      text += text.empty() ? "" : "\n";
      text += static_cast<char>(std::toupper(static_cast<unsigned char>(group[0])));
      text += group.substr(1) + "\n";
    }
    text += padded(std::string("  ") + to_string(finding.state), kStateWidth) +
            padded(finding.name, kNameWidth) + wrap(finding.found, kTextColumn, kColumns, false) +
            "\n" + under("impact: ", finding.cost) + under("remedy: ", finding.remedy);
  }
  text += can_run(findings) ? "\nThis machine can run thinpipe.\n"
                            : "\nThis machine cannot run thinpipe; see FATAL above.\n";
  return text;
}

std::string to_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"group", finding.group},
                    {"name", finding.name},
                    {"state", to_string(finding.state)},
                    {"found", finding.found},
                    {"cost", finding.cost},
                    {"remedy", finding.remedy}});
  }
  const nlohmann::ordered_json json{{"can_run", can_run(findings)}, {"findings", list}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::vector<Finding> kernel_findings(const KernelFeatures& features, const fs::path& proc_sys) {
  utsname system{};
  ::uname(&system);
  const char* no_emulation = "links cannot be emulated: `run` and `net` do not work";
  std::vector<Finding> findings{
      {.group = "kernel",
       .name = "kernel",
       .found = std::string(system.sysname) + " " + system.release + " " + system.machine},
      feature("namespaces", features.namespaces, State::kFatal, no_emulation,
              namespace_remedy(proc_sys).c_str())};
  if (!features.namespaces.available) return findings;  // the other tests need a namespace
  const std::vector<Finding> parts{
      feature("veth", features.veth, State::kFatal, no_emulation, "load or build module veth"),
      feature("bridge", features.bridge, State::kFatal, no_emulation,
              "load or build module bridge"),
      feature("TBF", features.tbf, State::kFatal, "links cannot be throttled",
              "load or build module sch_tbf"),
      feature("HTB", features.htb, State::kAbsent,
              "links with shaper=htb are refused; TBF supports the same rates",
              "load or build module sch_htb"),
      feature("netem", features.netem, State::kAbsent,
              "links with delay, jitter, loss, reorder, duplicate, corrupt or shaper=netem are "
              "refused; rate, burst, queue, overhead and mtu work",
              "modprobe sch_netem, or a kernel with CONFIG_NET_SCH_NETEM"),
      feature("IFB", features.ifb, State::kAbsent,
              "links with place=switch, and impairments of the uplink such as up.delay, are "
              "refused",
              "load or build modules ifb, cls_u32 and act_mirred")};
  findings.insert(findings.end(), parts.begin(), parts.end());
  return findings;
}

Finding netem_tests_finding(const KernelFeature& netem, const std::vector<std::string>& guests) {
  Finding finding{.group = "programs", .name = "netem tests"};
  const std::string guest = guests.empty()
                                ? "no user-mode Linux or QEMU in PATH"
                                : fmt::format("in a guest: {}", fmt::join(guests, " or "));
  if (netem.available) {
    finding.found = "on this kernel; " + guest;
    return finding;
  }
  finding.found = guest + "; this kernel has no netem";
  if (guests.empty()) {
    finding.state = State::kAbsent;
    finding.cost = "tests of delay, jitter and loss are skipped; nothing else changes";
    finding.remedy = "load module sch_netem, or run ./setup (user-mode Linux) or ./setup --qemu";
  }
  return finding;
}

std::vector<Finding> machine_findings(const MachineState& machine) {
  Finding cores{
      .group = "machine",
      .name = "cores",
      .found = fmt::format("{:g}{}", machine.cores, machine.cpu.empty() ? "" : ", " + machine.cpu)};
  if (machine.cores < 2) {
    cores.state = State::kNote;
    cores.cost = "ranks share one core: fast links appear slower than they are";
    cores.remedy = "use a machine with at least two cores";
  }
  Finding memory{.group = "machine",
                 .name = "memory",
                 .found = gibibytes(machine.memory_available) + " available"};
  if (machine.memory_available < kGiB) {
    memory.state = State::kNote;
    memory.cost = "`capture`, and runs with many ranks, may run out of memory";
  }
  Finding load{.group = "machine",
               .name = "load",
               .found = fmt::format("{:.2f} in the last minute", machine.load)};
  if (machine.load > 0.25 * machine.cores) {  // other programs use a quarter of the machine
    load.state = State::kNote;
    load.cost = "other programs disturb the measurements";
    load.remedy = "wait until they end, or stop them";
  }
  Finding disk{.group = "machine",
               .name = "disk",
               .found = gibibytes(machine.disk_free) + " free in " + machine.disk.string()};
  if (machine.disk_free < kGiB) {
    disk.state = State::kNote;
    disk.cost = "a trace may not fit: it takes 4 bytes per element, rank and step";
  }
  return {cores, memory, governor_finding(machine.governor), load, disk};
}

std::vector<Finding> card_findings() {
  std::vector<Finding> findings;
  for (const std::string& interface : shaped_interfaces()) {
    const pid_t guard = guard_of(interface);
    const bool lives = guard > 0 && (kill(guard, 0) == 0 || errno == EPERM);
    findings.push_back(
        {.group = "machine",
         .name = interface,
         .state = State::kNote,
         .found = lives ? fmt::format("throttled for a run of thinpipe; guard process: {}", guard)
                        : "was throttled for a run of thinpipe; the guard process died",
         .cost = lives ? "all traffic on this interface is limited to the rate of that run's link"
                       : "the interface may still be throttled",
         .remedy = lives ? "" : "thinpipe net restore"});
  }
  return findings;
}

}  // namespace thinpipe
