// The header of a launch's records, and in it the fingerprint of machine, system and programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "reports/record/record.h"

namespace thinpipe {

class Trace;

/// Facts that only those who started ranks know; all empty where none were.
struct NetworkState {
  std::map<std::string, std::string> sysctls = {};  ///< in force on the emulated hosts
  std::string mpi = {};                             ///< "Open MPI 4.1.4"
  std::string transports = {};                      ///< Open MPI's, "tcp,self"
  std::string congestion_control = {};              ///< TCP's, as the ranks found it
  std::vector<std::string> qdiscs = {};             ///< that this kernel was found to have
};

/// docs/records.md says what is in it. No names of users or machines, and of the environment only
/// the variables that an allow-list names. Values that the system does not show are null.
nlohmann::json fingerprint(const NetworkState& network);

/// Description of a rank's own machine: processor, cores, memory, governor, kernel, thinpipe's
/// version and revision.
nlohmann::json machine_description();

/// The commit, as `git describe --always --dirty` named it when this was built: "-dirty" at its end
/// where files differed from it; "" outside a repository.
const char* git_revision();

/// Processor, memory and kernel: `smt` (do cores run two threads each?), `turbo` (may the clock
/// exceed its nominal rate?), `l1d_bytes`, `l2_bytes`, `l3_bytes`, `memory_bytes` (installed),
/// `cpu_limit` (cores' worth of time that the control group allows) and `memory_limit_bytes`, `hz`
/// (the kernel's timer ticks a second). Null where there is no limit, or the system does not say.
/// `root` is "/" but in tests.
nlohmann::json processor_description(const std::filesystem::path& root);

/// The NVIDIA GPUs of this machine, without loading anything of CUDA: an object with `card`, what
/// is there and how it is set: `driver` (version of the kernel module), `models` (a name for each
/// card) and `clocks`; and `clocks`, what the cards run at just now, which changes with their load.
/// Clocks are an array with an object a card, `sm_hz` and `memory_hz`; of `card` also those that
/// were set for applications (`set_sm_hz`, `set_memory_hz`) and the others are the highest there
/// are. They are asked of nvidia-smi: null without it, or when it fails or takes more than 10 s;
/// single ones are null where a card does not tell. Both members are null without the module.
/// `root` is "/" but in tests; nvidia-smi is looked for in PATH.
nlohmann::json graphics_description(const std::filesystem::path& root);

/// Settings of a launch.
struct Launched {
  std::string kind;                  ///< kRunKind and its like
  std::vector<std::string> command;  ///< {"thinpipe", "run", ...}
  std::uint64_t seed = 1;
  int threads = 1;  ///< that one encode or decode may use, at most
};

/// ISO 8601, UTC.
std::string created_now();

/// A header of docs/records.md, as far as all verbs that measure have it in common: made now, by
/// this build, on this machine. @param trace  null: none
Header launch_header(const Launched& launched, const Trace* trace,
                     const NetworkState& network = {});

}  // namespace thinpipe
