// What a record says of the machine, the system and the programs it was measured with.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace thinpipe {

/// What only those know who started ranks; all empty where none were.
struct NetworkState {
  std::map<std::string, std::string> sysctls = {};  ///< in force on the emulated hosts
  std::string mpi = {};                             ///< "Open MPI 4.1.4"
  std::string transports = {};                      ///< Open MPI's, "tcp,self"
  std::string congestion_control = {};              ///< TCP's, as the ranks found it
  std::vector<std::string> qdiscs = {};             ///< that this kernel was found to have
};

/// docs/records.md says what is in it. No names of users or machines, and of the environment only
/// what measured_environment() lets through. What the system does not show is null.
nlohmann::json fingerprint(const NetworkState& network);

/// What a rank on a machine of its own tells of it: processor, cores, memory, governor, kernel,
/// thinpipe's version and revision.
nlohmann::json machine_description();

}  // namespace thinpipe
