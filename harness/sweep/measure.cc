#include "harness/sweep/measure.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "compressors/registry.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "harness/sweep/wire.h"
#include "netem/topology/flows.h"
#include "netem/verify.h"
#include "netem/verify_topology.h"

namespace thinpipe {

namespace {

using nlohmann::json;

// Processor time of the whole machine so far, in clock ticks.
struct ProcessorTime {
  double idle = 0, all = 0;
};

ProcessorTime processor_time() {
  std::ifstream file("/proc/stat");
  std::string word;
  file >> word;  // "cpu": user nice system idle iowait irq softirq steal (guests are in user)
  ProcessorTime time;
  double value = 0;
  for (int column = 0; column < 8 && file >> value; ++column) {
    time.all += value;
    if (column == 3 || column == 4) time.idle += value;
  }
  return time;
}

double dense_bits(const SweepPoint& point, const Trace& trace) {
  return 8.0 * sizeof(float) * static_cast<double>(trace.elements()) * point.ranks;
}

// Ten times what a dense exchange takes on these links, and half a minute for a machine in trouble.
double step_patience(const SweepPoint& point, const Topology& topology, const Trace& trace,
                     double compute_scale) {
  double longest_compute = 0;
  for (std::size_t rank = 0; rank < trace.ranks(); ++rank)
    for (std::size_t step = 0; step < trace.steps(); ++step)
      longest_compute = std::max(longest_compute, trace.times(rank, step).compute());
  const double bits = dense_bits(point, trace);
  // Rings and rendezvous wait for a round trip a few times for each rank and each 64 kB segment in
  // flight; where frames are lost, TCP takes longer than any model says.
  const double waits = 20.0 * point.ranks * longest_round_trip(topology);
  const double trouble = disturbs(topology) ? 10 : 1;
  const double goodput = exchange_goodput(topology);
  const double exchange = goodput > 0 ? bits / goodput : 0;
  return 30 + 10 * trouble * (exchange + waits + longest_compute * compute_scale);
}

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

void add_comparison(const std::vector<json>& compared, PointSamples& samples) {
  ++samples.checked_steps;
  for (const json& answer : compared) {
    const double error = answer.at("error").is_number() ? answer.at("error").get<double>()
                                                        : std::numeric_limits<double>::infinity();
    samples.worst_error = std::max(samples.worst_error, error);
    samples.identical_ranks =
        samples.identical_ranks && answer.at("digest") == compared[0].at("digest");
  }
}

}  // namespace

json Meter::describe(const SweepPoint& point) const {
  const Aggregation aggregation = aggregation_of(point.compressor);
  const std::string exchange = aggregation == Aggregation::kAllReduce ? "allreduce" : "allgather";
  return {{"record", "point"},
          {"id", point.id(options_)},
          {"axes",
           {{"compressor", point.compressor.to_string()},
            {"method", point.compressor.name},
            {"link", point.link_text()},
            {"rate", point.link.rate()},
            {"delay", point.link.delay()},
            {"ranks", point.ranks},
            {"repeat", point.repeat},
            {"topology", options_.topology.to_string()},
            {"pattern", exchange + "-" + options_.pattern}}},
          {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
}

json Meter::failure(const SweepPoint& point, const std::string& reason) const {
  json record = describe(point);
  record["status"] = "failed";
  record["reasons"] = {reason};
  return record;
}

// Of the link that is farthest off.
double Meter::network_goodput_ratio(const LinkSpec& link) {
  TopologyCheckOptions quick;
  quick.seconds = 1;
  quick.settle = 0.3;
  quick.pings = 20;
  double ratio = 1;
  for (const ProbeCheck& check : verify_topology(network_, link, quick))
    if (std::fabs(check.deviation()) >= std::fabs(ratio - 1)) ratio = 1 + check.deviation();
  return ratio;
}

double Meter::goodput_ratio(const LinkSpec& link) {
  const auto [found, inserted] = goodput_ratios_.try_emplace(link.to_string(), 0);
  if (inserted && !options_.topology.is_star()) {
    found->second = network_goodput_ratio(link);
  } else if (inserted) {
    VerifyOptions quick;
    quick.seconds = 1;
    quick.settle = 0.3;  // and what slow start takes on a long link
    quick.windows = 5;
    quick.pings = 20;
    found->second = 1 + verify_link(network_, link, quick).deviation();
  }
  return found->second;
}

json Meter::measure(const SweepPoint& point, Launch& launch, const std::function<void()>& stepped) {
  json record = describe(point);
  PointSamples samples;
  samples.aggregation = aggregation_of(point.compressor);
  samples.frame_bytes = point.link.frame_bytes();
  samples.payload_bytes = point.link.payload_bytes();
  const Topology planned = options_.topology.plan(network_.size(), point.link);
  samples.lossless = !disturbs(planned);
  // What TCP reaches where frames are lost or reordered is no measure of the link.
  if (network_.size() > 1 && samples.lossless) samples.goodput_ratio = goodput_ratio(point.link);
  ScheduleLog schedule(network_, point);
  const std::uint64_t steps = options_.warmup + options_.steps;
  json plugins = json::array();
  for (const std::filesystem::path& plugin : options_.plugins) plugins.push_back(plugin.string());
  try {
    launch.ask({{"do", "prepare"},
                {"trace", std::filesystem::absolute(options_.trace).string()},
                {"plugins", plugins},
                {"compressor", point.compressor.to_string()},
                {"seed", options_.seed},
                {"compute_scale", options_.compute_scale},
                {"non_finite", options_.zero_non_finite ? "zero" : "error"},
                {"pattern", options_.pattern},
                {"threads", options_.threads},
                {"simd", options_.simd},
                {"steps", steps}},
               300);
  } catch (const WorkerRefusal& refusal) {
    return failure(point, refusal.what());
  }
  const double patience = step_patience(point, planned, trace_, options_.compute_scale);
  WireCount wire_before;
  ProcessorTime used;  // while ranks were in their steps, not while they check
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (step == options_.warmup) wire_before = count_wire(network_);
    const ProcessorTime before = processor_time();
    schedule.begin_step();
    auto answers = launch.ask({{"do", "step"}, {"index", step}},
                              schedule.patience(dense_bits(point, trace_), patience));
    schedule.end_step(step >= options_.warmup);
    const ProcessorTime after = processor_time();
    stepped();
    if (step < options_.warmup) continue;
    used.idle += after.idle - before.idle;
    used.all += after.all - before.all;
    const bool check =
        options_.check_every > 0 && (step - options_.warmup) % options_.check_every == 0;
    const auto accounts =
        launch.ask({{"do", "account"}, {"index", step}, {"check", check}}, patience);
    for (std::size_t rank = 0; rank < answers.size(); ++rank)
      answers[rank]["relative_error"] = accounts[rank].at("relative_error");
    samples.answers.push_back(std::move(answers));
    if (check) add_comparison(launch.ask({{"do", "compare"}}, patience), samples);
  }
  samples.wire = between(wire_before, count_wire(network_));
  samples.idle_cpu = used.all > 0 ? used.idle / used.all : 1;

  const std::vector<std::string> faults = faults_of(samples);
  std::vector<std::string> doubts = doubts_about(samples);
  for (std::string& doubt : schedule.doubts()) doubts.push_back(std::move(doubt));
  if (!faults.empty()) return failure(point, fmt::format("{}", fmt::join(faults, "; ")));
  const WireBounds bounds = wire_bounds(samples);
  const Burst burst = longest_burst(planned);
  const double host_steps = static_cast<double>(options_.steps) * static_cast<double>(point.ranks);
  record["status"] = doubts.empty() ? "ok" : "invalid";
  record["reasons"] = doubts;
  record["metrics"] = metrics_of(samples, trace_.elements() * sizeof(float));
  record["per_rank"] = per_rank(samples);
  record["fidelity"] = {
      {"goodput_ratio", samples.goodput_ratio},
      {"wire_bytes_predicted", bounds.least / host_steps},
      {"wire_bytes_most", bounds.most / host_steps},
      {"wire_ratio", bounds.least > 0 ? json(static_cast<double>(samples.wire.sent) / bounds.least)
                                      : json(nullptr)},
      {"drops", samples.wire.drops},
      {"idle_cpu", samples.idle_cpu},
      {"burst_bytes", burst.bytes},
      {"burst_seconds", burst.seconds}};
  if (!point.schedule.empty()) record["schedule"] = schedule.record();
  if (!samples.wire.trunks.empty()) record["trunks"] = trunks_json(samples.wire);
  record["validation"] = {{"aggregate_max_error", samples.worst_error},
                          {"checked_steps", samples.checked_steps},
                          {"identical_ranks", samples.identical_ranks}};
  return record;
}

}  // namespace thinpipe
