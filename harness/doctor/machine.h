// Cores, memory, disk and whatever makes timings shake.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/doctor/finding.h"

namespace thinpipe {

/// What was read from the machine; apart from the judgement, so that the latter can be tested.
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

std::vector<Finding> machine_findings(const MachineState& machine);

}  // namespace thinpipe
