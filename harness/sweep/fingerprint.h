// What a record says of the machine and the programs it was measured with.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace thinpipe {

/// CPU, cores, caches, memory, governor, load, kernel, compiler, thinpipe's version and the sysctls
/// in force on the emulated hosts. Nothing of the environment, no names of users or machines.
nlohmann::json fingerprint(const std::map<std::string, std::string>& sysctls,
                           const std::string& mpi_version, const std::string& congestion_control);

/// What a rank on a machine of its own tells of it: processor, cores, memory, governor, kernel,
/// thinpipe's version and revision.
nlohmann::json machine_description();

}  // namespace thinpipe
