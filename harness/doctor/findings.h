// Findings of `thinpipe doctor` about the kernel, the machine and real interfaces, other programs
// and optional components.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "compressors/cuda/gpu.h"
#include "netem/probe.h"

namespace thinpipe {

struct MachineState;

/// One check of the doctor: state, impact and remedy.
struct Finding {
  enum class State {
    kGood,
    kNote,    ///< works, but measurements may be less accurate
    kAbsent,  ///< an optional component is missing
    kFatal,   ///< `thinpipe run` cannot work
  };
  std::string group = {};  ///< "kernel", "programs" or "machine"
  std::string name = {};   ///< at most 12 columns
  State state = State::kGood;
  std::string found = {};
  std::string cost = {};    ///< impact on the user; "" when good
  std::string remedy = {};  ///< action for the user; "" when none is needed or possible
};

const char* to_string(Finding::State state);

/// Returns whether no finding is fatal.
bool can_run(const std::vector<Finding>& findings);

/// Returns a table by group, at most 80 columns wide.
std::string to_text(const std::vector<Finding>& findings);

/// Returns JSON: {"can_run": true, "findings": [{"group": ...}]}
std::string to_json(const std::vector<Finding>& findings);

/// Returns whether the kernel can emulate links. `proc_sys` is the folder of the settings that may
/// forbid user namespaces (/proc/sys).
std::vector<Finding> kernel_findings(const KernelFeatures& features,
                                     const std::filesystem::path& proc_sys = "/proc/sys");

/// Returns which kernel the tests of netem can use: the running kernel or one in a guest.
/// @param netem   netem in the running kernel
/// @param guests  installed programs that boot a kernel with netem, such as "user-mode Linux
/// 6.1.176". tests/kernel/in_guest.py checks that the guest boots.
Finding netem_tests_finding(const KernelFeature& netem, const std::vector<std::string>& guests);

/// Returns findings on cores, memory and disk, and on sources of timing noise.
std::vector<Finding> machine_findings(const MachineState& machine);

/// Returns the real interfaces that thinpipe throttles, or left throttled: one finding for each
/// interface with a state file.
std::vector<Finding> card_findings();

/// Returns findings on other programs and on optional components.
std::vector<Finding> software_findings();

/// Returns the output of `program` with `arguments` (standard output and error); nothing if it does
/// not start or fails.
std::optional<std::string> output_of(const std::filesystem::path& program,
                                     const std::vector<std::string>& arguments);

/// Returns the first line that `program` prints with `argument` (standard output and error);
/// nothing if it does not start or prints nothing.
std::optional<std::string> first_line(const std::filesystem::path& program,
                                      const std::string& argument);

/// Returns the finding for the output of `mpirun --version`. thinpipe is tested with Open MPI 4.1.
Finding mpi_finding(const std::optional<std::string>& version_line);

/// Returns whether compressors can run on a GPU.
/// @param built   whether this build has the CUDA Toolkit
/// @param driver  version of the NVIDIA driver, or ""
Finding gpu_finding(const GpuStatus& gpu, bool built, const std::string& driver);

/// Returns whether MPI is CUDA-aware.
/// @param info  output of `ompi_info --parsable --all`; nothing if it does not start
Finding gpu_mpi_finding(const std::optional<std::string>& info, bool has_gpu);

}  // namespace thinpipe
