#include "harness/fingerprint/processor.h"

#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace thinpipe {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

std::optional<double> number_of(const fs::path& path) {
  std::ifstream file(path);
  double value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

nlohmann::json whole_or_null(std::optional<double> value) {
  return value ? nlohmann::json(static_cast<std::uint64_t>(*value)) : nlohmann::json(nullptr);
}

nlohmann::json smt(const fs::path& root) {
  const std::string active = text_of(root / "sys/devices/system/cpu/smt/active");
  return active.empty() ? nlohmann::json(nullptr) : nlohmann::json(active == "1");
}

// Intel's driver says what is forbidden, the others what is allowed.
nlohmann::json turbo(const fs::path& root) {
  const fs::path cpu = root / "sys/devices/system/cpu";
  if (const std::string off = text_of(cpu / "intel_pstate/no_turbo"); !off.empty())
    return off == "0";
  if (const std::string on = text_of(cpu / "cpufreq/boost"); !on.empty()) return on == "1";
  return nullptr;
}

// "48K", "2048K", "273M" in the kernel's own words; of cpu0, data or unified.
nlohmann::json cache_bytes(const fs::path& root, int level) {
  const fs::path folder = root / "sys/devices/system/cpu/cpu0/cache";
  for (int i = 0; fs::exists(folder / ("index" + std::to_string(i))); ++i) {
    const fs::path cache = folder / ("index" + std::to_string(i));
    if (number_of(cache / "level") != level || text_of(cache / "type") == "Instruction") continue;
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
  std::ifstream file(root / "proc/meminfo");
  std::string name;
  std::uint64_t kilobytes = 0;
  while (file >> name >> kilobytes) {
    if (name == "MemTotal:") return kilobytes << 10;
    std::getline(file, name);
  }
  return nullptr;
}

nlohmann::json cpu_limit(const fs::path& root) {
  std::ifstream file(root / "sys/fs/cgroup/cpu.max");  // "200000 100000"; "max 100000" for none
  double quota = 0, period = 0;
  if (file >> quota >> period && period > 0) return quota / period;
  return nullptr;
}

// Coarse clocks advance once a tick.
nlohmann::json ticks_a_second() {
  timespec resolution = {};
  if (clock_getres(CLOCK_MONOTONIC_COARSE, &resolution) != 0 || resolution.tv_nsec <= 0)
    return nullptr;
  return static_cast<int>(std::lround(1e9 / static_cast<double>(resolution.tv_nsec)));
}

}  // namespace

nlohmann::json processor_description(const fs::path& root) {
  return {{"smt", smt(root)},
          {"turbo", turbo(root)},
          {"l1d_bytes", cache_bytes(root, 1)},
          {"l2_bytes", cache_bytes(root, 2)},
          {"l3_bytes", cache_bytes(root, 3)},
          {"memory_bytes", memory_bytes(root)},
          {"cpu_limit", cpu_limit(root)},
          {"memory_limit_bytes", whole_or_null(number_of(root / "sys/fs/cgroup/memory.max"))},
          {"hz", ticks_a_second()}};
}

}  // namespace thinpipe
