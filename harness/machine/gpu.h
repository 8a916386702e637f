// Description of a GPU for the records of benchmarks and ranks, with its present clock rates.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "compressors/cuda/timed_device.h"

namespace thinpipe {

/// GPU state from NVIDIA's management library.
struct GpuState {
  std::string driver;                  ///< "580.95.05"; "" if unknown
  std::optional<std::uint64_t> sm_hz;  ///< nothing if unknown
  std::optional<std::uint64_t> memory_hz;

  bool operator==(const GpuState&) const = default;
};

/// Returns the state of the card at a PCI bus address ("0000:0a:00.0"); nothing without the card or
/// the library, which comes with the driver. Takes microseconds once the library is loaded, so that
/// a card can be queried while it works. @param library  a different one in tests
std::optional<GpuState> ask_nvml(const std::string& bus,
                                 const std::string& library = "libnvidia-ml.so.1");

/// The GPU of a bench.
struct BenchDevice {
  DeviceDescription description;
  std::optional<GpuState> state;  ///< while it worked; nothing if unknown
};

/// Returns the `device` of a record's header.
nlohmann::json device_json(const BenchDevice& device);

}  // namespace thinpipe
