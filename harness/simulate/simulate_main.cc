// Simulates one point: reads a job from standard input and writes the answer to standard output, or
// an object with an `error` (harness/simulate/job.h).
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>

#include <exception>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "harness/simulate/job.h"
#include "workloads/collectives/collectives.h"
#include "workloads/simulate/cluster.h"

int main() {
  using namespace thinpipe;
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // it does not outlive the command
  try {
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    const SimulationJob job = parse_job(nlohmann::json::parse(text));
    const double begin = now_seconds();
    SimulationAnswer answer{.version = simgrid_version(), .steps = {}};
    const int hosts = job.work.ranks + servers_of(job.work.collective);
    answer.steps = simulate(simulated_network(parse_topology(job.topology),
                                              parse_link_spec(job.link), hosts, job.message_time),
                            job.work);
    answer.seconds = now_seconds() - begin;
    fmt::print("{}\n", answer_json(answer).dump());
    return kExitGood;
  } catch (const std::exception& error) {
    fmt::print("{}\n", nlohmann::json{{"error", error.what()}}.dump());
    return kExitFailed;
  }
}
