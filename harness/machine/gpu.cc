#include "harness/machine/gpu.h"

#include <dlfcn.h>

#include <nlohmann/json.hpp>

namespace thinpipe {
namespace {

// The used declarations of nvml.h, which are stable. Functions return 0 on success.
using NvmlDevice = struct nvmlDevice_st*;
using NvmlInit = int (*)();
using NvmlDriver = int (*)(char* version, unsigned length);
using NvmlFind = int (*)(const char* bus, NvmlDevice* device);
using NvmlClock = int (*)(NvmlDevice device, int clock, unsigned* megahertz);
constexpr int kNvmlSm = 1, kNvmlMemory = 2;

template <class Function>
bool find_symbol(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

std::optional<std::uint64_t> clock_of(NvmlClock ask, NvmlDevice device, int clock) {
  unsigned megahertz = 0;
  if (ask(device, clock, &megahertz) != 0) return std::nullopt;
  return std::uint64_t{megahertz} * 1'000'000;
}

}  // namespace

std::optional<GpuState> ask_nvml(const std::string& bus, const std::string& library) {
  // Neither closed nor shut down, because later calls use it and loading takes milliseconds.
  void* const loaded = ::dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (loaded == nullptr) return std::nullopt;
  NvmlInit init = nullptr;
  NvmlDriver driver = nullptr;
  NvmlFind find = nullptr;
  NvmlClock clock = nullptr;
  if (!find_symbol(loaded, "nvmlInit_v2", init) ||
      !find_symbol(loaded, "nvmlSystemGetDriverVersion", driver) ||
      !find_symbol(loaded, "nvmlDeviceGetHandleByPciBusId_v2", find) ||
      !find_symbol(loaded, "nvmlDeviceGetClockInfo", clock) || init() != 0)
    return std::nullopt;
  NvmlDevice device = nullptr;
  if (find(bus.c_str(), &device) != 0) return std::nullopt;
  char version[96] = "";  // nvml.h requires 80
  return GpuState{.driver = driver(version, sizeof version) == 0 ? version : "",
                  .sm_hz = clock_of(clock, device, kNvmlSm),
                  .memory_hz = clock_of(clock, device, kNvmlMemory)};
}

nlohmann::json device_json(const BenchDevice& device) {
  const DeviceDescription& gpu = device.description;
  nlohmann::json json = {{"name", gpu.name},
                         {"architecture", gpu.architecture},
                         {"multiprocessors", gpu.multiprocessors},
                         {"memory_bytes", gpu.memory_bytes},
                         {"l2_bytes", gpu.l2_bytes},
                         {"cuda_runtime", gpu.runtime},
                         {"cuda_driver", gpu.driver},
                         {"driver", nullptr},
                         {"sm_hz", nullptr},
                         {"memory_hz", nullptr}};
  if (!device.state) return json;
  if (!device.state->driver.empty()) json["driver"] = device.state->driver;
  if (device.state->sm_hz) json["sm_hz"] = *device.state->sm_hz;
  if (device.state->memory_hz) json["memory_hz"] = *device.state->memory_hz;
  return json;
}

}  // namespace thinpipe
