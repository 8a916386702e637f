#include "harness/doctor/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <signal.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/error.h"
#include "harness/machine/machine.h"
#include "harness/machine/programs.h"
#include "harness/options/terminal.h"
#include "harness/paper/paper.h"
#include "netem/real_nic/saved_qdiscs.h"
#include "workloads/trace/chakra/execution_trace.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using State = Finding::State;

constexpr std::size_t kStateWidth = 10;
constexpr std::size_t kNameWidth = 14;
constexpr std::size_t kTextColumn = kStateWidth + kNameWidth;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

// Returns a finding, with cost and remedy unless it is good.
Finding finding_of(const char* group, const char* name, State state, const std::string& found,
                   const std::string& cost, const std::string& remedy = "") {
  const bool good = state == State::kGood;
  return {.group = group,
          .name = name,
          .state = state,
          .found = found,
          .cost = good ? "" : cost,
          .remedy = good ? "" : remedy};
}

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
  if (setting(proc_sys, "kernel/unprivileged_userns_clone") == 0)  // Debian
    propose("kernel.unprivileged_userns_clone=1");
  if (setting(proc_sys, "user/max_user_namespaces") == 0) propose("user.max_user_namespaces=15000");
  if (setting(proc_sys, "kernel/apparmor_restrict_unprivileged_userns") == 1)  // Ubuntu 23.10 on
    propose("kernel.apparmor_restrict_unprivileged_userns=0");
  if (!commands.empty()) return "as root: " + commands;
  return "run as root, or allow user namespaces (in a container: by its security profile)";
}

Finding feature(const char* name, const KernelFeature& found, State when_absent, const char* cost,
                const std::string& remedy) {
  return finding_of("kernel", name, found.available ? State::kGood : when_absent, found.detail,
                    cost, remedy);
}

std::string gibibytes(std::uint64_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / static_cast<double>(kGiB));
}

// Returns a finding on the machine, which is a note if `noted`.
Finding trait(const char* name, bool noted, const std::string& found, const char* cost,
              const char* remedy = "") {
  return finding_of("machine", name, noted ? State::kNote : State::kGood, found, cost, remedy);
}

// Returns a finding on a program or an optional component, which is absent unless `good`.
Finding component(const char* name, bool good, const std::string& found, const char* cost,
                  const std::string& remedy = "") {
  return finding_of("programs", name, good ? State::kGood : State::kAbsent, found, cost, remedy);
}

// Looks for one of thinpipe's own programs.
Finding own_program(const char* label, const char* name, State when_absent, const char* cost) {
  try {
    return finding_of("programs", label, State::kGood, find_program(name).string(), "");
  } catch (const RunError& error) {
    return finding_of("programs", label, when_absent, error.what(), cost);
  }
}

Finding tool(const char* name, const char* cost, const char* remedy) {
  const std::optional<fs::path> path = find_in_path(name);
  const std::optional<std::string> line = path ? first_line(*path, "--version") : std::nullopt;
  return component(name, line.has_value(),
                   line   ? *line
                   : path ? path->string() + " does not start"
                          : std::string("no ") + name + " in PATH",
                   cost, remedy);
}

Finding protobuf() {
  const bool built = has_protobuf();
  return component("protobuf", built, built ? "this build: with it" : "this build: without it",
                   "`trace import` reads Chakra traces in JSON only; `trace export` writes none",
                   "install libprotobuf-dev and protobuf-compiler, then build again");
}

Finding cuda() {
  std::error_code error;
  const bool toolkit = find_in_path("nvcc") || fs::exists("/usr/local/cuda/bin/nvcc", error);
  return component("CUDA", THINPIPE_HAS_CUDA,
                   std::string("toolkit: ") + (toolkit ? "yes" : "no") +
                       "; this build: " + (THINPIPE_HAS_CUDA ? "with toolkit" : "without"),
                   "compressors for GPUs are not in this build; nothing else is missing");
}

// Adds two findings: the GPU, and whether MPI is CUDA-aware.
void add_gpu_findings(std::vector<Finding>& findings) {
  const GpuStatus gpu = probe_gpu();
  std::ifstream version("/sys/module/nvidia/version");
  std::string driver;
  version >> driver;
  findings.push_back(gpu_finding(gpu, THINPIPE_HAS_CUDA, driver));
  const std::optional<fs::path> info = find_in_path("ompi_info");
  findings.push_back(gpu_mpi_finding(
      info ? output_of(*info, {"--parsable", "--all"}) : std::nullopt, gpu.available));
}

// Does not start Chromium, because printing its version takes seconds.
Finding chromium() {
  const std::optional<fs::path> path = find_chromium();
  return component("Chromium", path.has_value(), path ? path->string() : "no chromium in PATH",
                   "`report --format pdf` does not work; a browser can print the HTML page",
                   "install Chromium (Debian: chromium)");
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
  for (const Finding& finding : findings)
    list.push_back({{"group", finding.group},
                    {"name", finding.name},
                    {"state", to_string(finding.state)},
                    {"found", finding.found},
                    {"cost", finding.cost},
                    {"remedy", finding.remedy}});
  const nlohmann::ordered_json json{{"can_run", can_run(findings)}, {"findings", list}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::vector<Finding> kernel_findings(const KernelFeatures& features, const fs::path& proc_sys) {
  utsname system{};
  ::uname(&system);
  const char* no_emulation = "links cannot be emulated: `run` and `net` do not work";
  std::vector<Finding> findings{
      finding_of("kernel", "kernel", State::kGood,
                 std::string(system.sysname) + " " + system.release + " " + system.machine, ""),
      feature("namespaces", features.namespaces, State::kFatal, no_emulation,
              namespace_remedy(proc_sys))};
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
  const std::string guest = guests.empty()
                                ? "no user-mode Linux or QEMU in PATH"
                                : fmt::format("in a guest: {}", fmt::join(guests, " or "));
  return component(
      "netem tests", netem.available || !guests.empty(),
      netem.available ? "on this kernel; " + guest : guest + "; this kernel has no netem",
      "tests of delay, jitter and loss are skipped; nothing else changes",
      "load module sch_netem, or run ./setup (user-mode Linux) or ./setup --qemu");
}

std::vector<Finding> machine_findings(const MachineState& machine) {
  const std::string& governor = machine.governor;
  return {trait("cores", machine.cores < 2,
                fmt::format("{:g}{}", machine.cores, machine.cpu.empty() ? "" : ", " + machine.cpu),
                "ranks share one core: fast links appear slower than they are",
                "use a machine with at least two cores"),
          trait("memory", machine.memory_available < kGiB,
                gibibytes(machine.memory_available) + " available",
                "`capture`, and runs with many ranks, may run out of memory"),
          trait("governor", !governor.empty() && governor != "performance",
                governor.empty() ? "not exposed (usual in virtual machines)" : governor,
                "the CPU clock varies with the load, and so do compress and decode times",
                "as root: cpupower frequency-set -g performance"),
          trait("load", machine.load > 0.25 * machine.cores,  // a quarter of the machine
                fmt::format("{:.2f} in the last minute", machine.load),
                "other programs disturb the measurements", "wait until they end, or stop them"),
          trait("disk", machine.disk_free < kGiB,
                gibibytes(machine.disk_free) + " free in " + machine.disk.string(),
                "a trace may not fit: it takes 4 bytes per element, rank and step")};
}

std::vector<Finding> card_findings() {
  std::vector<Finding> findings;
  std::vector<std::string> interfaces;
  try {
    interfaces = shaped_interfaces();
  } catch (const SystemError& error) {
    findings.push_back({.group = "machine",
                        .name = "NICs",
                        .state = State::kNote,
                        .found = error.what(),
                        .cost = "an interface may still be throttled",
                        .remedy = "as root: thinpipe doctor"});
  }
  for (const std::string& interface : interfaces) {
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

Finding gpu_finding(const GpuStatus& gpu, bool built, const std::string& driver) {
  return component(
      "GPU", gpu.available,
      gpu.detail + (gpu.available && !driver.empty() ? "; driver " + driver : ""),
      "`bench`, `run` and `train` with --device cuda do not work; nothing else is affected",
      built ? "use an NVIDIA GPU of compute capability 8.0 or higher, with its driver"
            : "build on a machine with the CUDA Toolkit (12 or newer)");
}

Finding gpu_mpi_finding(const std::optional<std::string>& info, bool has_gpu) {
  // A read-only parameter of the library: a property of its build.
  const bool knows = info && info->find("built_with_cuda_support:value:true") != std::string::npos;
  return component(
      "MPI with CUDA", knows,
      knows  ? "yes: Open MPI was built with CUDA; the collective openmpi passes device pointers "
               "to it"
      : info ? "no: Open MPI was built without CUDA"
             : "no working ompi_info in PATH",
      "`run --device cuda` with the collective openmpi copies payloads through host memory, as "
      "the other collectives do; nothing else changes",
      has_gpu ? "build Open MPI with --with-cuda, or use Open MPI over UCX with CUDA" : "");
}

std::optional<std::string> output_of(const fs::path& program,
                                     const std::vector<std::string>& arguments) {
  try {
    const auto [text, status] = read_program(program, arguments);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  } catch (const SystemError&) {
    // It cannot be started.
  }
  return std::nullopt;
}

std::optional<std::string> first_line(const fs::path& program, const std::string& argument) {
  std::optional<std::string> text = output_of(program, {argument});
  if (text) text->resize(std::min(text->find('\n'), text->size()));
  if (!text || text->empty()) return std::nullopt;
  return text;
}

Finding mpi_finding(const std::optional<std::string>& version_line) {
  const auto finding = [&](State state, const char* cost, const char* remedy = "") {
    return finding_of("programs", "MPI", state, version_line.value_or("no working mpirun in PATH"),
                      cost, remedy);
  };
  if (!version_line)
    return finding(State::kFatal, "ranks cannot be launched: `run` does not work",
                   "install Open MPI (Debian: openmpi-bin)");
  if (version_line->find("Open MPI") == std::string::npos)
    return finding(State::kFatal, "thinpipe places ranks by options that only Open MPI has",
                   "put Open MPI's mpirun first in PATH (Debian: openmpi-bin)");
  return finding(
      version_line->find("Open MPI) 4.") == std::string::npos ? State::kNote : State::kGood,
      "thinpipe is tested with Open MPI 4.1; other versions may have other options");
}

std::vector<Finding> software_findings() {
  const std::optional<fs::path> mpirun = find_in_path("mpirun");
  std::vector<Finding> findings = {
      mpi_finding(mpirun ? first_line(*mpirun, "--version") : std::nullopt),
      own_program("worker", "thinpipe-worker", State::kFatal, "`run` does not work"),
      own_program("enter", "thinpipe-enter", State::kFatal, "`run` does not work"),
      own_program("capture", "thinpipe-capture", State::kAbsent,
                  "`capture` cannot train a model; imported and synthetic traces work"),
      own_program("simulate", "thinpipe-simulate", State::kAbsent,
                  "`run --engine simgrid` cannot simulate more ranks than this machine can run"),
      tool("gnuplot", "figures cannot be drawn: only `report --format md` works",
           "install gnuplot (Debian: gnuplot-nox)"),
      tool("rsvg-convert", "figures are SVG only: `report --figure` cannot write PDF or PNG",
           "install rsvg-convert (Debian: librsvg2-bin)"),
      chromium(),
      protobuf(),
      cuda()};
  add_gpu_findings(findings);
  return findings;
}

}  // namespace thinpipe
