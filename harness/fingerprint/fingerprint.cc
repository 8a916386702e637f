#include "harness/fingerprint/fingerprint.h"

#include <sys/utsname.h>

#include <nlohmann/json.hpp>

#include "harness/doctor/machine.h"
#include "harness/fingerprint/environment.h"
#include "harness/fingerprint/graphics.h"
#include "harness/fingerprint/processor.h"
#include "harness/fingerprint/revision.h"

namespace thinpipe {

nlohmann::json fingerprint(const NetworkState& network) {
  nlohmann::json json = machine_description();
  json.update(processor_description("/"));
  json["load"] = read_machine("/").load;
  json["compiler"] = "g++ " __VERSION__;
  json["flags"] = THINPIPE_FLAGS;
  const nlohmann::json graphics = graphics_description("/");
  json["gpu"] = graphics.at("card");
  json["gpu_clocks"] = graphics.at("clocks");
  json["environment"] = measured_environment();
  const auto or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::json(nullptr) : nlohmann::json(text);
  };
  json["mpi"] = or_null(network.mpi);
  json["transports"] = or_null(network.transports);
  json["congestion_control"] = or_null(network.congestion_control);
  json["sysctls"] = network.sysctls;
  json["qdiscs"] = network.qdiscs;
  return json;
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
          {"git", git_revision()}};
}

}  // namespace thinpipe
