#include "harness/sweep/fingerprint.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "harness/doctor/machine.h"

namespace thinpipe {

nlohmann::json fingerprint(const std::map<std::string, std::string>& sysctls,
                           const std::string& mpi_version, const std::string& congestion_control) {
  const MachineState machine = read_machine(".");
  utsname kernel = {};
  uname(&kernel);
  return {{"cpu", machine.cpu},
          {"cores", machine.cores},
          {"l2_bytes", sysconf(_SC_LEVEL2_CACHE_SIZE)},
          {"l3_bytes", sysconf(_SC_LEVEL3_CACHE_SIZE)},
          {"memory_available_bytes", machine.memory_available},
          {"governor", machine.governor},
          {"load", machine.load},
          {"kernel", std::string(kernel.sysname) + " " + kernel.release},
          {"architecture", kernel.machine},
          {"compiler", "g++ " __VERSION__},
          {"thinpipe", THINPIPE_VERSION},
          {"git", THINPIPE_GIT},
          {"mpi", mpi_version},
          {"congestion_control", congestion_control},
          {"sysctls", sysctls}};
}

nlohmann::json machine_description() {
  const MachineState machine = read_machine("/");
  utsname kernel = {};
  uname(&kernel);
  return {{"cpu", machine.cpu},
          {"cores", machine.cores},
          {"memory_available_bytes", machine.memory_available},
          {"governor", machine.governor},
          {"kernel", std::string(kernel.sysname) + " " + kernel.release},
          {"architecture", kernel.machine},
          {"thinpipe", THINPIPE_VERSION},
          {"git", THINPIPE_GIT}};
}

}  // namespace thinpipe
