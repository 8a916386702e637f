// Findings of the doctor, on the kernel, the machine and real interfaces; software.h has the
// others.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "netem/probe.h"

namespace thinpipe {

struct MachineState;

/// One thing that the doctor looked at: its state, its cost, its remedy.
struct Finding {
  enum class State {
    kGood,
    kNote,    ///< works, but figures may suffer
    kAbsent,  ///< an optional part is missing
    kFatal,   ///< `thinpipe run` cannot work
  };
  std::string group = {};  ///< "kernel", "programs" or "machine"
  std::string name = {};   ///< at most 12 columns
  State state = State::kGood;
  std::string found = {};
  std::string cost = {};    ///< what it costs the user; "" when good
  std::string remedy = {};  ///< what to do about it; "" when nothing can be done or need be
};

const char* to_string(Finding::State state);

/// True when nothing is fatal.
bool can_run(const std::vector<Finding>& findings);

/// A table for people, grouped, at most 80 columns wide.
std::string to_text(const std::vector<Finding>& findings);

/// {"can_run": true, "findings": [{"group": ...}]}
std::string to_json(const std::vector<Finding>& findings);

/// Whether the kernel can emulate links. `proc_sys` is where the settings stand that may forbid
/// user namespaces (/proc/sys).
std::vector<Finding> kernel_findings(const KernelFeatures& features,
                                     const std::filesystem::path& proc_sys = "/proc/sys");

/// Which kernel with netem the tests have: this one, or one that they boot. `netem` is what the
/// running kernel offers; `guests` what is installed to boot one that has it, as "user-mode Linux
/// 6.1.176" (tests/kernel/in_guest.py says if it boots).
Finding netem_tests_finding(const KernelFeature& netem, const std::vector<std::string>& guests);

/// Cores, memory, disk and whatever makes timings shake.
std::vector<Finding> machine_findings(const MachineState& machine);

/// Real interfaces that thinpipe throttles, or left throttled: one for each interface with a state
/// file; none on a host where nothing was ever throttled.
std::vector<Finding> card_findings();

}  // namespace thinpipe
