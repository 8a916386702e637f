#include "harness/sweep/header.h"

#include "harness/fingerprint/fingerprint.h"
#include "harness/records/launch_header.h"
#include "netem/probe.h"
#include "reports/record/record.h"

namespace thinpipe {

namespace {

using nlohmann::json;

// What the machines are, and what each rank told of its own.
json machines_of(const Machines& machines, const Launch* launch) {
  json text = machines.description();
  if (launch != nullptr && !launch->rank_machines().empty())
    text["ranks"] = launch->rank_machines();
  return text;
}

std::vector<std::string> available_qdiscs() {
  const KernelFeatures features = probe_kernel();
  std::vector<std::string> names;
  if (features.tbf.available) names.push_back("tbf");
  if (features.htb.available) names.push_back("htb");
  if (features.netem.available) names.push_back("netem");
  return names;
}

NetworkState network_of(const Machines& machines, const Launch* launch) {
  NetworkState network{.sysctls = machines.sysctls(), .qdiscs = available_qdiscs()};
  if (launch != nullptr) {
    network.mpi = launch->mpi_version();
    network.transports = kTransports;
    network.congestion_control = launch->congestion_control();
  }
  return network;
}

}  // namespace

json header_of(const SweepOptions& options, const Trace& trace, const Machines& machines,
               const Launch* launch, const Calibrator& calibrator) {
  json header = launch_header({.kind = kRunKind,
                               .command = options.command,
                               .seed = options.seed,
                               .threads = options.threads},
                              &trace, network_of(machines, launch));
  header["machines"] = machines_of(machines, launch);
  header["calibration"] = calibrator.record();
  return header;
}

void add_devices(Launch& launch, json& header) {
  constexpr double kOpenPatience = 60;  // s; a driver that nothing uses takes some to start
  for (const json& rank : launch.ask({{"do", "device"}}, kOpenPatience)) {
    if (!rank.contains("bus")) continue;
    if (!header.contains("device")) {
      header["device"] = rank.at("device");
      header["mpi_takes_device_addresses"] = rank.at("mpi_takes_addresses");
    }
    header["rank_devices"].push_back(rank.at("bus"));
  }
}

}  // namespace thinpipe
