// What a GPU of NVIDIA's runs at just now, of its management library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace thinpipe {

struct GpuState {
  std::string driver;                  ///< "580.95.05"; "" where it does not tell
  std::optional<std::uint64_t> sm_hz;  ///< nothing where it does not tell
  std::optional<std::uint64_t> memory_hz;

  bool operator==(const GpuState&) const = default;
};

/// Of the card at an address of the PCI bus ("0000:0a:00.0"). Nothing without the library, which
/// the driver brings, or the card. Takes microseconds once it is loaded, so that a card can be
/// asked while it works. @param library  another in tests
std::optional<GpuState> ask_nvml(const std::string& bus,
                                 const std::string& library = "libnvidia-ml.so.1");

}  // namespace thinpipe
