// The header of a launch's records, with the fingerprint of machine, system and programs.
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

/// State of the network and of MPI, known after ranks have started; empty without ranks.
struct NetworkState {
  std::map<std::string, std::string> sysctls = {};  ///< in force on the emulated hosts
  std::string mpi = {};                             ///< "Open MPI 4.1.4"
  std::string transports = {};                      ///< Open MPI's, "tcp,self"
  std::string congestion_control = {};              ///< TCP's, as reported by the ranks
  std::vector<std::string> qdiscs = {};             ///< available in this kernel
};

/// Returns the fingerprint of docs/records.md. It has no names of users or machines, and only the
/// environment variables of an allow-list. Values that the system does not show are null.
nlohmann::json fingerprint(const NetworkState& network);

/// Returns the description of a rank's own machine: CPU, cores, memory, governor, kernel,
/// thinpipe's version and revision.
nlohmann::json machine_description();

/// Returns the commit by `git describe --always --dirty` at build time: with "-dirty" at its end if
/// files differed from it; "" outside a repository.
const char* git_revision();

/// Returns the properties of CPU, memory and kernel: `smt` (whether cores run two threads each),
/// `turbo` (whether the clock may exceed its nominal rate), `l1d_bytes`, `l2_bytes`, `l3_bytes`,
/// `memory_bytes` (installed), `cpu_limit` (cores' worth of time that the control group allows) and
/// `memory_limit_bytes`, `hz` (the kernel's timer ticks a second). Null where there is no limit, or
/// the system does not show it. `root` is "/" except in tests.
nlohmann::json processor_description(const std::filesystem::path& root);

/// Returns a description of this machine's NVIDIA GPUs, without loading CUDA. It is an object with
/// two members, `card` and `clocks`. Both are null without the kernel module. `card` has the
/// settings: `driver` (version of the kernel module), `models` (a name for each card) and its own
/// `clocks`. Both `clocks` are arrays with an object for each card. Those in `card` have the
/// highest rates, `sm_hz` and `memory_hz`, and the rates set for applications, `set_sm_hz` and
/// `set_memory_hz`. The outer `clocks` have the present `sm_hz` and `memory_hz`, which change with
/// the load. Clocks come from nvidia-smi: null without it, or when it fails or takes more than 10
/// s. Single rates are null where a card does not show them. `root` is "/" except in tests;
/// nvidia-smi is searched in PATH.
nlohmann::json graphics_description(const std::filesystem::path& root);

/// Settings of a launch.
struct Launched {
  std::string kind;                  ///< kRunKind and similar
  std::vector<std::string> command;  ///< {"thinpipe", "run", ...}
  std::uint64_t seed = 1;
  int threads = 1;  ///< greatest number for one encode or decode
};

/// Returns the present time in ISO 8601, UTC.
std::string created_now();

/// Returns a header of docs/records.md for this time, build and machine, with the fields that all
/// measuring verbs share.
/// @param trace  null without one
Header launch_header(const Launched& launched, const Trace* trace,
                     const NetworkState& network = {});

}  // namespace thinpipe
