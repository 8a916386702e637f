#include "harness/machine/machine.h"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <fstream>
#include <system_error>

#include "base/error.h"
#include "base/text.h"
#include "compressors/cuda/gpu.h"

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

double usable_cores(const fs::path& root) {
  cpu_set_t set;
  CPU_ZERO(&set);
  const double cores = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::min(cores, cpu_limit(root).value_or(cores));
}

std::uint64_t available_memory(const fs::path& root) {
  const std::string kilobytes = value_of_line(root / "proc/meminfo", "MemAvailable");
  double bytes = 1024 * leading_number(kilobytes).value_or(0);
  const auto limit = leading_number(first_word(root / "sys/fs/cgroup/memory.max"));
  const auto used = leading_number(first_word(root / "sys/fs/cgroup/memory.current"));
  if (limit && used) bytes = std::min(bytes, std::max(0.0, *limit - *used));
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace

void check_device(const std::string& name) {
  if (name != kDeviceCpu && name != kDeviceCuda)
    throw InputError("--device: found " + in_quotes(name) + ", expected cpu or cuda");
}

void require_gpu() {
  const GpuStatus status = probe_gpu();
  if (status.available) return;
  throw RunError("--device cuda: " + status.detail +
                 (THINPIPE_HAS_CUDA
                      ? "; needs an NVIDIA GPU of compute capability 8.0 or higher and its driver "
                        "(nvidia-smi shows both)"
                      : "; build thinpipe on a machine with CUDA's nvcc (docs/gpu.md)") +
                 ". --device cpu measures on this machine");
}

std::string first_word(const fs::path& file) {
  std::ifstream words(file);
  std::string word;
  words >> word;
  return word;
}

std::string value_of_line(const fs::path& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(name) || colon == std::string::npos) continue;
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? "" : line.substr(start);
  }
  return "";
}

std::optional<double> leading_number(const std::string& text) {
  try {
    return std::stod(text);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<double> cpu_limit(const fs::path& root) {
  std::ifstream file(root / "sys/fs/cgroup/cpu.max");  // "200000 100000": quota and period, in us
  double quota = 0, period = 0;
  if (file >> quota >> period && period > 0) return quota / period;
  return std::nullopt;
}

MachineState read_machine(const fs::path& folder, const fs::path& root) {
  MachineState machine;
  machine.cores = usable_cores(root);
  machine.cpu = value_of_line(root / "proc/cpuinfo", "model name");
  machine.memory_available = available_memory(root);
  machine.governor = first_word(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  machine.load = leading_number(first_word(root / "proc/loadavg")).value_or(0);
  machine.disk = folder;
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  if (!error) machine.disk_free = space.available;
  return machine;
}

}  // namespace thinpipe
