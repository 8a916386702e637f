// A GPU as benchmarks and ranks record it: its description, and what it runs at just now.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "compressors/cuda/timed_device.h"

namespace thinpipe {

/// GPU state from NVIDIA's management library.
struct GpuState {
  std::string driver;                  ///< "580.95.05"; "" where it does not tell
  std::optional<std::uint64_t> sm_hz;  ///< nothing where it does not tell
  std::optional<std::uint64_t> memory_hz;

  bool operator==(const GpuState&) const = default;
};

/// State of the card at a PCI bus address ("0000:0a:00.0"). Nothing without the library, which the
/// driver brings, or the card. Takes microseconds once it is loaded, so that a card can be asked
/// while it works. @param library  another in tests
std::optional<GpuState> ask_nvml(const std::string& bus,
                                 const std::string& library = "libnvidia-ml.so.1");

/// The GPU of a bench.
struct BenchDevice {
  DeviceDescription description;
  std::optional<GpuState> state;  ///< while it worked; nothing where that cannot be asked
};

/// The `device` of a record's header.
nlohmann::json device_json(const BenchDevice& device);

}  // namespace thinpipe
