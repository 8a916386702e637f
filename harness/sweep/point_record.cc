#include "harness/sweep/point_record.h"

#include <ctime>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include <fmt/chrono.h>

#include "harness/scale/step.h"
#include "harness/sweep/paths.h"
#include "harness/sweep/wire.h"
#include "netem/topology/flows.h"

namespace thinpipe {

using nlohmann::json;

namespace {

// The bucket that lets most time's worth of bytes through for free.
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
    means.push_back(static_cast<double>(count) / static_cast<double>(samples.answers.size()));
  return means;
}

}  // namespace

json fidelity_of(const PointSamples& samples, const SweepPoint& point, const MeasuredOn& on) {
  const WireBounds bounds = wire_bounds(samples);
  const Burst burst = longest_burst(on.planned);
  const WayCalibration* farthest =
      on.calibrated != nullptr ? on.calibrated->figures.farthest() : nullptr;
  const double host_steps =
      static_cast<double>(samples.answers.size()) * static_cast<double>(point.ranks);
  json fidelity = {{"goodput_ratio", farthest != nullptr ? json(farthest->ratio()) : json(nullptr)},
                   {"wire_bytes_predicted", bounds.least / host_steps},
                   {"wire_bytes_most", bounds.most / host_steps},
                   {"wire_ratio", bounds.least > 0 && samples.wire.counted
                                      ? json(static_cast<double>(samples.wire.sent) / bounds.least)
                                      : json(nullptr)},
                   {"drops", samples.wire.drops},
                   {"idle_cpu", samples.idle_cpu ? json(*samples.idle_cpu) : json(nullptr)},
                   {"burst_bytes", burst.bytes},
                   {"burst_seconds", burst.seconds / point.time_scale}};
  if (samples.wire.counted)
    fidelity["wire_bytes_by_rank"] = mean_a_step(samples.wire.sent_by, samples);
  if (!samples.wire.segments_by.empty()) {
    fidelity["tcp_segments_by_rank"] = mean_a_step(samples.wire.segments_by, samples);
    fidelity["tcp_retransmitted_by_rank"] = mean_a_step(samples.wire.retransmitted_by, samples);
  }
  return fidelity;
}

json describe(const SweepPoint& point, const SweepOptions& options) {
  const std::string exchange = exchange_name(point.pattern, point.compressor);
  json record = {
      {"record", "point"},
      {"id", point.id(options)},
      {"axes",
       {{"compressor", point.compressor.to_string()},
        {"method", point.compressor.method()},
        {"link", point.link_text()},
        {"rate", point.link.rate()},
        {"delay", point.link.delay()},
        {"ranks", point.ranks},
        {"repeat", point.repeat},
        {"topology", options.topology.to_string()},
        {"time_scale", point.time_scale},
        {"pattern", exchange + "-" + point.pattern.to_string()},
        {"feed", point.feed.to_string()}}},
      {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
  if (options.device != kDeviceCpu) record["axes"]["device"] = options.device;
  if (!point.stragglers.empty()) record["axes"]["stragglers"] = point.stragglers.to_string();
  return record;
}

json failed_point(const SweepPoint& point, const SweepOptions& options, const std::string& reason) {
  json record = describe(point, options);
  record["status"] = "failed";
  record["reasons"] = {reason};
  return record;
}

void add_measured(const PointSamples& samples, const SweepPoint& point, const MeasuredOn& on,
                  std::size_t dense_bytes, json& record) {
  record["metrics"] = metrics_of(samples, dense_bytes);
  record["per_rank"] = per_rank(samples);
  if (!samples.servers.empty()) record["servers"] = per_server(samples);
  record["critical_path"] = paths_of(samples, point, on.schedule, on.planned, on.one_clock);
  record["timeline"] = timeline_of(samples, on.one_clock);
  record["fidelity"] = fidelity_of(samples, point, on);
  if (point.time_scale != 1) record["raw"] = raw_times(samples.answers, samples.overlapped);
  if (!point.schedule.empty()) record["schedule"] = on.schedule.record();
  if (!samples.wire.trunks.empty()) record["trunks"] = trunks_json(samples.wire);
  record["validation"] = validation_of(samples);
}

}  // namespace thinpipe
