#include "harness/machine/fingerprint.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "compressors/simd.h"
#include "harness/machine/machine.h"
#include "harness/machine/programs.h"
#include "netem/file_descriptor.h"
#include "workloads/trace/trace.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kNames[] = {"CUDA_VISIBLE_DEVICES", "GLIBC_TUNABLES", "LD_BIND_NOW"};
constexpr std::string_view kBeginnings[] = {"MALLOC_", "OMPI_MCA_", "OMP_", "THINPIPE_", "UCX_"};
// Variables that mpirun sets for every rank, and thinpipe for the programs that it starts: they
// differ between launches of one measurement, and one is a secret.
constexpr std::string_view kNotThese[] = {
    "OMPI_MCA_ess_",          "OMPI_MCA_orte_", "OMPI_MCA_pmix_", "OMPI_MCA_initial_wdir",
    "OMPI_MCA_shmem_RUNTIME", "THINPIPE_HOST",  "THINPIPE_STEPS", "THINPIPE_TOKEN"};

bool is_measured(std::string_view name) {
  const auto begins = [&](std::string_view beginning) { return name.starts_with(beginning); };
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         (std::any_of(std::begin(kBeginnings), std::end(kBeginnings), begins) &&
          std::none_of(std::begin(kNotThese), std::end(kNotThese), begins));
}

// Returns the environment variables of an allow-list: OpenMP's number of threads, settings of Open
// MPI, UCX, the C library's allocator and CUDA, and thinpipe's own. Environments contain passwords,
// so values of other variables are not read.
nlohmann::json measured_environment() {
  nlohmann::json json = nlohmann::json::object();
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || !is_measured(text.substr(0, equals))) continue;
    json[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return json;
}

nlohmann::json whole_or_null(std::optional<double> value) {
  return value ? nlohmann::json(static_cast<std::uint64_t>(*value)) : nlohmann::json(nullptr);
}

nlohmann::json smt(const fs::path& root) {
  const std::string active = first_word(root / "sys/devices/system/cpu/smt/active");
  return active.empty() ? nlohmann::json(nullptr) : nlohmann::json(active == "1");
}

// Intel's driver shows whether turbo is forbidden, other drivers whether it is allowed.
nlohmann::json turbo(const fs::path& root) {
  const fs::path cpu = root / "sys/devices/system/cpu";
  if (const std::string off = first_word(cpu / "intel_pstate/no_turbo"); !off.empty())
    return off == "0";
  if (const std::string on = first_word(cpu / "cpufreq/boost"); !on.empty()) return on == "1";
  return nullptr;
}

// Reads the kernel's "48K", "2048K", "273M" for the data or unified cache of cpu0.
nlohmann::json cache_bytes(const fs::path& root, int level) {
  const fs::path folder = root / "sys/devices/system/cpu/cpu0/cache";
  for (int i = 0; fs::exists(folder / ("index" + std::to_string(i))); ++i) {
    const fs::path cache = folder / ("index" + std::to_string(i));
    if (leading_number(first_word(cache / "level")) != level ||
        first_word(cache / "type") == "Instruction")
      continue;
    std::ifstream file(cache / "size");
    std::uint64_t size = 0;
    char unit = ' ';
    if (!(file >> size)) return nullptr;
    file >> unit;
    return size << (unit == 'K' ? 10 : unit == 'M' ? 20 : unit == 'G' ? 30 : 0);
  }
  return nullptr;
}

nlohmann::json memory_bytes(const fs::path& root) {
  const auto kilobytes = leading_number(value_of_line(root / "proc/meminfo", "MemTotal:"));
  return whole_or_null(kilobytes ? std::optional(1024 * *kilobytes) : std::nullopt);
}

// Returns the timer ticks a second, from the resolution of a coarse clock, which advances once a
// tick.
nlohmann::json ticks_a_second() {
  timespec resolution = {};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) != 0 || resolution.tv_nsec <= 0)
    return nullptr;
  return static_cast<int>(std::lround(1e9 / static_cast<double>(resolution.tv_nsec)));
}

// Reads a pipe until its other end is closed; returns nothing when that takes too long.
std::optional<std::string> read_within(int file, std::chrono::seconds time) {
  const Clock::time_point until = Clock::now() + time;
  std::string text;
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    pollfd waited{file, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&waited, 1, static_cast<int>(left.count())) <= 0)
      return std::nullopt;
    char buffer[4096];
    const ssize_t count = ::read(file, buffer, sizeof buffer);
    if (count < 0) return std::nullopt;
    if (count == 0) return text;
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

// Queries nvidia-smi, with a timeout, because a faulty driver can delay it for minutes.
std::optional<std::string> ask_driver(const std::string& query) {
  constexpr std::chrono::seconds kTimeout(10);
  const std::optional<fs::path> program = find_in_path("nvidia-smi");
  if (!program) return std::nullopt;
  const FileDescriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Pipe pipe;
  pid_t child = 0;
  try {
    pipe = make_pipe();
    child = start_process(*program, {"--query-gpu=" + query, "--format=csv,noheader,nounits"}, -1,
                          pipe.writing.get(), nowhere.get());
  } catch (const SystemError&) {
    return std::nullopt;
  }
  pipe.writing.reset();
  const std::optional<std::string> text = read_within(pipe.reading.get(), kTimeout);
  if (!text) ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  return text && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? text : std::nullopt;
}

// Returns the Hz of " 1980", which is in MHz; null for "[N/A]" and similar.
nlohmann::json hertz(const std::string& field) {
  const std::size_t begin = std::min(field.find_first_not_of(' '), field.size());
  const auto megahertz = parse_number<std::uint32_t>(std::string_view(field).substr(begin));
  return megahertz ? nlohmann::json(std::uint64_t{*megahertz} * 1'000'000) : nlohmann::json();
}

void add_clocks(nlohmann::json& card, nlohmann::json& now) {
  const auto answer = ask_driver(
      "clocks.max.sm,clocks.max.memory,clocks.applications.graphics,clocks.applications.memory,"
      "clocks.sm,clocks.memory");
  card["clocks"] = nullptr;
  if (!answer) return;
  nlohmann::json limits = nlohmann::json::array(), current = nlohmann::json::array();
  for (const std::string& line : split(*answer, '\n')) {
    const std::vector<std::string> fields = split(line, ',');
    if (fields.size() != 6) continue;
    limits.push_back({{"sm_hz", hertz(fields[0])},
                      {"memory_hz", hertz(fields[1])},
                      {"set_sm_hz", hertz(fields[2])},
                      {"set_memory_hz", hertz(fields[3])}});
    current.push_back({{"sm_hz", hertz(fields[4])}, {"memory_hz", hertz(fields[5])}});
  }
  if (limits.empty()) return;
  card["clocks"] = std::move(limits);
  now = std::move(current);
}

nlohmann::json trace_description(const Trace& trace) {
  nlohmann::json description = {{"path", trace.folder().string()},
                                {"model", trace.model()},
                                {"identity", trace.identity()},
                                {"elements", trace.elements()},
                                {"tensors", trace.tensors().size()},
                                {"ranks", trace.ranks()},
                                {"steps", trace.steps()},
                                {"dtype", gradient_type_name(trace.gradient_type())},
                                {"complete", trace.complete()}};
  if (const auto values = trace.metadata().find("values"); values != trace.metadata().end())
    description["values"] = *values;
  return description;
}

}  // namespace

nlohmann::json processor_description(const fs::path& root) {
  const std::optional<double> limit = cpu_limit(root);
  return {{"smt", smt(root)},
          {"turbo", turbo(root)},
          {"l1d_bytes", cache_bytes(root, 1)},
          {"l2_bytes", cache_bytes(root, 2)},
          {"l3_bytes", cache_bytes(root, 3)},
          {"memory_bytes", memory_bytes(root)},
          {"cpu_limit", limit ? nlohmann::json(*limit) : nlohmann::json(nullptr)},
          {"memory_limit_bytes",
           whole_or_null(leading_number(first_word(root / "sys/fs/cgroup/memory.max")))},
          {"hz", ticks_a_second()}};
}

nlohmann::json graphics_description(const fs::path& root) {
  nlohmann::json card, clocks;  // null
  std::ifstream version(root / "sys/module/nvidia/version");
  std::string driver;
  if (version >> driver) {
    std::vector<fs::path> cards;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(root / "proc/driver/nvidia/gpus", none))
      cards.push_back(entry.path());
    std::sort(cards.begin(), cards.end());
    nlohmann::json models = nlohmann::json::array();
    for (const fs::path& of : cards) models.push_back(value_of_line(of / "information", "Model:"));
    card = {{"driver", driver}, {"models", models}};
    add_clocks(card, clocks);
  }
  return {{"card", card}, {"clocks", clocks}};
}

nlohmann::json fingerprint(const NetworkState& network) {
  nlohmann::json json = machine_description();
  json.update(processor_description("/"));
  json["load"] = read_machine("/").load;
  json["compiler"] = "g++ " __VERSION__;
  json["flags"] = THINPIPE_FLAGS;
  const nlohmann::json graphics = graphics_description("/");
  json["gpu"] = graphics.at("card");
  json["gpu_clocks"] = graphics.at("clocks");
  json["environment"] = measured_environment();
  const auto or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
  };
  json["mpi"] = or_null(network.mpi);
  json["transports"] = or_null(network.transports);
  json["congestion_control"] = or_null(network.congestion_control);
  json["sysctls"] = network.sysctls;
  json["qdiscs"] = network.qdiscs;
  return json;
}

nlohmann::json machine_description() {
  const MachineState machine = read_machine("/");
  utsname kernel = {};
  uname(&kernel);
  return {{"cpu", machine.cpu},
          {"cores", machine.cores},
          {"memory_available_bytes", machine.memory_available},
          {"governor", machine.governor},
          {"kernel", std::string(kernel.sysname) + " " + kernel.release},
          {"architecture", kernel.machine},
          {"thinpipe", THINPIPE_VERSION},
          {"git", git_revision()}};
}

std::string created_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

Header launch_header(const Launched& launched, const Trace* trace, const NetworkState& network) {
  Header header;
  header.kind = launched.kind;
  header.created = created_now();
  header.command = launched.command;
  header.seed = launched.seed;
  header.threads = launched.threads;
  header.simd = simd_target();
  header.fingerprint = Document(fingerprint(network));
  if (trace != nullptr) header.trace = Document(trace_description(*trace));
  return header;
}

}  // namespace thinpipe
