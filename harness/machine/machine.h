// This machine: its cores, memory and disk, and the devices on which compressors run here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace thinpipe {

/// Names of devices in options and records.
inline constexpr const char* kDeviceCpu = "cpu";
inline constexpr const char* kDeviceCuda = "cuda";

/// @throws InputError for what is no name of a device
void check_device(const std::string& name);

/// @throws RunError without a GPU that this build can use, saying why and what to do
void require_gpu();

/// The first word of a file of the kernel's; "" where there is none.
std::string first_word(const std::filesystem::path& file);

/// Machine state that affects timings; machine_findings() in harness/doctor/findings.h judges it.
struct MachineState {
  double cores = 0;                    ///< usable by this process, control group's quota included
  std::string cpu;                     ///< model name, or ""
  std::uint64_t memory_available = 0;  ///< bytes, control group's limit included
  std::string governor;                ///< "" where the system does not show one
  double load = 0;                     ///< mean number of running tasks in the last minute
  std::uint64_t disk_free = 0;         ///< bytes an ordinary user may still write
  std::filesystem::path disk;          ///< where
};

/// `root` is "/" but in tests.
MachineState read_machine(const std::filesystem::path& folder,
                          const std::filesystem::path& root = "/");

}  // namespace thinpipe
