// A point as thinpipe sends it to the program thinpipe-simulate, its simulated network, and the
// program's answer. The program is separate because SimGrid simulates one network in a process, and
// so that the command starts without SimGrid's libraries.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "netem/topology/spec.h"
#include "workloads/simulate/work.h"

namespace thinpipe {

/// Name of the program.
inline constexpr const char* kSimulateProgram = "thinpipe-simulate";

struct SimulationJob {
  std::string topology, link;  ///< as users write them
  double message_time = 0;     ///< s of an empty message beyond the links' delays
  SimulatedWork work;
};

nlohmann::json job_json(const SimulationJob& job);
SimulationJob parse_job(const nlohmann::json& json);

/// Returns the simulated network of a point: the links of --link and --topology, each with the rate
/// that TCP reaches on it. This is TCP's ceiling with acknowledgements, as in network_model.h.
/// @throws InputError as TopologySpec::plan()
SimulatedNetwork simulated_network(const TopologySpec& topology, const LinkSpec& link, int hosts,
                                   double message_time);

struct SimulationAnswer {
  std::string version;  ///< of SimGrid
  double seconds = 0;   ///< that the simulation took
  SimulatedSteps steps;
};

nlohmann::json answer_json(const SimulationAnswer& answer);
SimulationAnswer parse_answer(const nlohmann::json& json);

}  // namespace thinpipe
