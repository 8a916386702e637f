// Cores, memory, disk and whatever makes timings shake.
#include "harness/doctor/machine.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <optional>

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

std::string first_word(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// The value of "name : value" or "name: value" in a file of such lines.
std::string field(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (line.compare(0, name.size(), name) != 0 || colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::optional<double> number(const std::string& text) {
  try {
    return std::stod(text);
  } catch (const std::exception&) {
    return std::nullopt;  // "max" in control groups, or no such file
  }
}

double usable_cores(const fs::path& root) {
  cpu_set_t set;
  CPU_ZERO(&set);
  double cores = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  std::ifstream file(root / "sys/fs/cgroup/cpu.max");  // "200000 100000": quota and period, in us
  double quota = 0, period = 0;
  if (file >> quota >> period && period > 0) cores = std::min(cores, quota / period);
  return cores;
}

std::uint64_t available_memory(const fs::path& root) {
  double bytes = 1024 * number(field(root / "proc/meminfo", "MemAvailable")).value_or(0);  // kB
  const auto limit = number(first_word(root / "sys/fs/cgroup/memory.max"));
  const auto used = number(first_word(root / "sys/fs/cgroup/memory.current"));
  if (limit && used) bytes = std::min(bytes, std::max(0.0, *limit - *used));
  return static_cast<std::uint64_t>(bytes);
}

std::string gibibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
}

Finding governor_finding(const std::string& governor) {
  Finding finding{.group = "machine", .name = "governor", .found = governor};
  if (governor.empty()) {
    finding.found = "not shown (usual in virtual machines)";
  } else if (governor != "performance") {
    finding.state = State::kNote;
    finding.cost = "the clock follows the load: compress and decode times vary";
    finding.remedy = "as root: cpupower frequency-set -g performance";
  }
  return finding;
}

}  // namespace

MachineState read_machine(const fs::path& folder, const fs::path& root) {
  MachineState machine;
  machine.cores = usable_cores(root);
  machine.cpu = field(root / "proc/cpuinfo", "model name");
  machine.memory_available = available_memory(root);
  machine.governor = first_word(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  machine.load = number(first_word(root / "proc/loadavg")).value_or(0);
  machine.disk = folder;
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (!error) machine.disk_free = space.available;
  return machine;
}

std::vector<Finding> machine_findings(const MachineState& machine) {
  Finding cores{
      .group = "machine",
      .name = "cores",
      .found = fmt::format("{:g}{}", machine.cores, machine.cpu.empty() ? "" : ", " + machine.cpu)};
  if (machine.cores < 2) {
    cores.state = State::kNote;
    cores.cost = "ranks take turns on it: fast links look slower than they are";
    cores.remedy = "give the machine at least two cores";
  }
  Finding memory{.group = "machine",
                 .name = "memory",
                 .found = gibibytes(machine.memory_available) + " available"};
  if (machine.memory_available < kGiB) {
    memory.state = State::kNote;
    memory.cost = "capture, and many ranks, may run out of memory";
  }
  Finding load{.group = "machine",
               .name = "load",
               .found = fmt::format("{:.2f} in the last minute", machine.load)};
  if (machine.load > 0.25 * machine.cores) {  // a quarter of the machine is at work on other things
    load.state = State::kNote;
    load.cost = "other programs disturb the timings";
    load.remedy = "wait until they are done";
  }
  Finding disk{.group = "machine",
               .name = "disk",
               .found = gibibytes(machine.disk_free) + " free in " + machine.disk.string()};
  if (machine.disk_free < kGiB) {
    disk.state = State::kNote;
    disk.cost = "a trace takes 4 bytes an element, rank and step: it may not fit";
  }
  return {cores, memory, governor_finding(machine.governor), load, disk};
}

}  // namespace thinpipe
