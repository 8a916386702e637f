// This machine: its cores, memory and disk, and the devices for compressors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace thinpipe {

/// Names of devices in options and records.
inline constexpr const char* kDeviceCpu = "cpu";
inline constexpr const char* kDeviceCuda = "cuda";

/// Checks a device's name. @throws InputError for an unknown one
void check_device(const std::string& name);

/// Checks that there is a GPU that this build can use. @throws RunError with cause and remedy, if
/// not
void require_gpu();

/// Returns the first word of a file of the kernel; "" without such a file.
std::string first_word(const std::filesystem::path& file);

/// Returns the value of a file's line "name : value" or "name: value"; "" without such a line.
std::string value_of_line(const std::filesystem::path& path, const std::string& name);

/// Returns the number at the begin of a text; nullopt for other texts, such as "max".
std::optional<double> leading_number(const std::string& text);

/// Returns the number of cores whose CPU time the control group allows; nullopt without a limit.
std::optional<double> cpu_limit(const std::filesystem::path& root);

/// Machine state that affects timings; machine_findings() in harness/doctor/findings.h judges it.
struct MachineState {
  double cores = 0;                    ///< usable by this process within its control group's quota
  std::string cpu;                     ///< model name, or ""
  std::uint64_t memory_available = 0;  ///< bytes, within the control group's limit
  std::string governor;                ///< "" where the system does not show one
  double load = 0;                     ///< mean number of running tasks in the last minute
  std::uint64_t disk_free = 0;         ///< bytes an ordinary user may still write
  std::filesystem::path disk;          ///< folder on that disk
};

/// Reads the state of this machine. `root` is "/" except in tests.
MachineState read_machine(const std::filesystem::path& folder,
                          const std::filesystem::path& root = "/");

}  // namespace thinpipe
