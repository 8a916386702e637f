#include "harness/sweep/measure.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/statistics.h"
#include "base/text.h"
#include "base/units.h"

#include "harness/critical_path/critical_path.h"
#include "harness/sweep/time_scaling.h"
#include "netem/probe.h"
#include "netem/topology/flows.h"
#include "reports/record/record.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// Returns the description of the machines, with each rank's own.
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

// The token bucket with the longest burst: bytes that pass unthrottled, and their time at the rate.
struct Burst {
  double bytes = 0, seconds = 0;
};

Burst longest_burst(const Topology& topology) {
  Burst longest;
  for (const LinkSpec& link : links_as_set(topology)) {
    const LinkSpec filled = link.with_defaults();
    for (const Direction& direction : {filled.up, filled.down})
      if (direction.rate > 0 && direction.burst * 8 / direction.rate > longest.seconds)
        longest = {static_cast<double>(direction.burst), direction.burst * 8 / direction.rate};
  }
  return longest;
}

std::vector<double> mean_a_step(const std::vector<std::uint64_t>& counted,
                                const PointSamples& samples) {
  std::vector<double> means;
  for (const std::uint64_t count : counted)
    means.push_back(static_cast<double>(count) / static_cast<double>(samples.steps.size()));
  return means;
}

// Returns the `critical_path` of a record: what the steps waited for, and the busiest links.
json paths_of(const PointSamples& samples, const SweepPoint& point, const MeasuredOn& on) {
  std::vector<std::vector<StepTimeline>> steps;
  std::vector<StepPath> paths;
  for (std::size_t step = 0; step < samples.steps.size(); ++step) {
    steps.push_back(timelines_of(samples.steps[step], on.one_clock));
    const std::vector<ServedExchange> served = served_by(samples.steps[step], on.one_clock);
    paths.push_back(critical_path(steps.back(), point.bucketing.codec_beside, served));
  }
  RateOf rate = rates_as_set(on.planned);
  if (on.schedule.plays())
    rate = [&](int link, bool up) { return on.schedule.mean_rate(link, up); };
  json record = path_record(
      paths, link_uses(samples.wire, on.planned, rate, exchange_seconds(steps)), point.time_scale);
  if (json longest = longest_payload(samples.steps); !longest.is_null())
    record["payload"] = std::move(longest);
  return record;
}

}  // namespace

Header network_header(const Launched& launched, const Trace* trace, const Machines& machines,
                      const Launch* launch, const Calibrator& calibrator) {
  Header header = launch_header(launched, trace, network_of(machines, launch));
  header.machines = Document(machines_of(machines, launch));
  header.calibration = Document(calibrator.record());
  return header;
}

void add_devices(Launch& launch, Header& header) {
  constexpr double kOpenTimeout = 60;  // s; an unused driver takes some seconds to start
  for (const json& rank : launch.ask({{"do", "device"}}, kOpenTimeout)) {
    if (!rank.contains("bus")) continue;
    if (header.device.empty()) {
      header.device = Document(rank.at("device"));
      header.mpi_takes_device_addresses = rank.at("mpi_takes_addresses").get<bool>();
    }
    header.rank_devices.push_back(rank.at("bus"));
  }
}

Fidelity fidelity_of(const PointSamples& samples, const SweepPoint& point, const MeasuredOn& on) {
  const Burst burst = longest_burst(on.planned);
  const WayCalibration* farthest =
      on.calibrated != nullptr ? on.calibrated->figures.farthest() : nullptr;
  Fidelity fidelity;
  if (farthest != nullptr) fidelity.goodput_ratio = farthest->ratio();
  fidelity.drops = samples.wire.drops;
  fidelity.idle_cpu = samples.idle_cpu;
  fidelity.burst_bytes = burst.bytes;
  fidelity.burst_seconds = burst.seconds / point.time_scale;
  if (samples.steps.empty()) return fidelity;
  const WireBounds bounds = wire_bounds(samples);
  const double host_steps =
      static_cast<double>(samples.steps.size()) * static_cast<double>(point.ranks);
  fidelity.wire_bytes_predicted = bounds.least / host_steps;
  fidelity.wire_bytes_most = bounds.most / host_steps;
  if (bounds.least > 0 && samples.wire.counted)
    fidelity.wire_ratio = static_cast<double>(samples.wire.sent) / bounds.least;
  if (samples.wire.counted)
    fidelity.wire_bytes_by_rank = mean_a_step(samples.wire.sent_by, samples);
  if (!samples.wire.segments_by.empty()) {
    fidelity.tcp_segments_by_rank = mean_a_step(samples.wire.segments_by, samples);
    fidelity.tcp_retransmitted_by_rank = mean_a_step(samples.wire.retransmitted_by, samples);
  }
  return fidelity;
}

Point describe(const SweepPoint& planned, const SweepOptions& options) {
  Point point;
  point.id = planned.id(options);
  point.normal_id = planned.normal_id(options);
  point.started = created_now();
  Axes& axes = point.axes;
  axes.compressor = planned.compressor.to_string();
  axes.method = planned.compressor.method();
  axes.link = planned.link_text();
  axes.rate = planned.link.rate();
  axes.delay = planned.link.delay();
  axes.ranks = planned.ranks;
  axes.repeat = planned.repeat;
  axes.topology = options.topology.to_string();
  axes.time_scale = planned.time_scale;
  axes.collective =
      exchange_name(planned.collective, planned.compressor) + "-" + planned.collective.to_string();
  axes.bucketing = planned.bucketing.to_string();
  axes.device = options.device;
  if (options.simulated) axes.engine = kSimGridEngine;
  if (options.hosts) axes.engine = options.hosts->shape.empty() ? kNetworkEngine : kMachinesEngine;
  if (!planned.stragglers.empty()) axes.stragglers = planned.stragglers.to_string();
  return point;
}

Point failed_point(const SweepPoint& planned, const SweepOptions& options,
                   const std::string& reason) {
  Point point = describe(planned, options);
  point.status = Status::kFailed;
  point.reasons = {reason};
  return point;
}

std::string outcome_line(const SweepPoint& planned, const Point& point) {
  std::string line = fmt::format("{:<7} {} x {} on {}", status_name(point.status), planned.ranks,
                                 planned.compressor.to_string(), link_line(planned.link));
  if (planned.collective.name != "ring") line += " by " + planned.collective.to_string();
  if (!planned.bucketing.is_default()) line += ", " + planned.bucketing.to_string();
  if (!planned.stragglers.empty()) line += ", " + planned.stragglers.to_string();
  if (!planned.schedule.empty()) line += ", schedule " + excerpt(planned.schedule.to_string());
  if (point.axes.time_scale != 1) line += fmt::format(" at time scale {}", point.axes.time_scale);
  if (const std::vector<double> times = point.samples("step_time"_metric); !times.empty())
    line += fmt::format(": {} a step", format_time(median(times)));
  if (const std::string path = path_phrase(path_finding(point.critical_path)); !path.empty())
    line += ", " + path;
  for (const std::string& reason : point.reasons) line += "; " + reason;
  return line;
}

void mark_shared(bool tolerated, Point& point) {
  if (!point.fidelity) point.fidelity.emplace();
  if (point.fidelity->shared_machine == true) return;
  point.fidelity->shared_machine = true;
  if (tolerated) return;
  point.status = Status::kInvalid;
  point.reasons.emplace_back(
      "another run measured on this machine at the same time, so the two took CPU time from each "
      "other. Run one sweep at a time, or accept this with `--share-machine`");
}

void add_measured(const PointSamples& samples, const SweepPoint& planned, const MeasuredOn& on,
                  std::size_t dense_bytes, Point& point) {
  point.metrics = metrics_of(samples, dense_bytes);
  point.critical_path = Document(paths_of(samples, planned, on));
  put_timeline(samples, on.one_clock, point);
  point.fidelity = fidelity_of(samples, planned, on);
  point.validation = Document(validation_of(samples));
  json details = {{"per_rank", per_rank(samples.steps)}};
  if (planned.servers() > 0) details["servers"] = per_server(samples);
  if (planned.time_scale != 1) details["raw"] = raw_times(samples.steps, samples.overlapped);
  if (!planned.schedule.empty()) details["schedule"] = on.schedule.record();
  if (!samples.wire.trunks.empty()) details["trunks"] = trunks_json(samples.wire);
  point.details = Document(std::move(details));
}

}  // namespace thinpipe
