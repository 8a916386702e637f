#include "harness/sweep/measure.h"

#include <algorithm>
#include <ctime>
#include <fstream>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "compressors/registry.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "netem/verify.h"

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

struct WireCount {
  std::uint64_t up = 0, down = 0, drops = 0;
};

WireCount count_wire(Star& star, int ranks) {
  WireCount count;
  for (int i = 0; i < ranks; ++i) {
    const LinkCounters link = star.counters(i);
    count.up += link.up.bytes;
    count.down += link.down.bytes;
    count.drops += link.up.drops + link.way_up.drops + link.down.drops;
  }
  return count;
}

double dense_bits(const SweepPoint& point, const Trace& trace) {
  return 8.0 * sizeof(float) * static_cast<double>(trace.elements()) * point.ranks;
}

// Ten times what a dense exchange takes on this link, and half a minute for a machine in trouble.
double step_patience(const SweepPoint& point, const Trace& trace, double compute_scale) {
  double longest_compute = 0;
  for (std::size_t rank = 0; rank < trace.ranks(); ++rank)
    for (std::size_t step = 0; step < trace.steps(); ++step)
      longest_compute = std::max(longest_compute, trace.times(rank, step).compute());
  const double bits = dense_bits(point, trace);
  // Rings and rendezvous wait for a round trip a few times for each rank and each 64 kB segment in
  // flight; where frames are lost, TCP takes longer than any model says.
  const double waits = 20.0 * point.ranks * point.link.round_trip();
  const double trouble = point.link.disturbs() ? 10 : 1;
  return 30 +
         10 * trouble * (bits / point.link.tcp_ceiling() + waits + longest_compute * compute_scale);
}

const Direction& slower_direction(const LinkSpec& link) {
  return link.up.rate == link.rate() ? link.up : link.down;
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
            {"pattern", exchange + "-" + options_.pattern}}},
          {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
}

json Meter::failure(const SweepPoint& point, const std::string& reason) const {
  json record = describe(point);
  record["status"] = "failed";
  record["reasons"] = {reason};
  return record;
}

double Meter::goodput_ratio(const LinkSpec& link) {
  const auto [found, inserted] = goodput_ratios_.try_emplace(link.to_string(), 0);
  if (inserted) {
    VerifyOptions quick;
    quick.seconds = 1;
    quick.settle = 0.3;  // and what slow start takes on a long link
    quick.windows = 5;
    quick.pings = 20;
    found->second = 1 + verify_link(star_, link, quick).deviation();
  }
  return found->second;
}

json Meter::measure(const SweepPoint& point, Launch& launch, const std::function<void()>& stepped) {
  json record = describe(point);
  PointSamples samples;
  samples.aggregation = aggregation_of(point.compressor);
  samples.frame_bytes = point.link.frame_bytes();
  samples.payload_bytes = point.link.payload_bytes();
  samples.lossless = !point.link.disturbs();
  // What TCP reaches where frames are lost or reordered is no measure of the link.
  if (star_.size() > 1 && samples.lossless) samples.goodput_ratio = goodput_ratio(point.link);
  ScheduleLog schedule(star_, point);
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
  const double patience = step_patience(point, trace_, options_.compute_scale);
  WireCount wire_before;
  ProcessorTime used;  // while ranks were in their steps, not while they check
  for (std::uint64_t step = 0; step < steps; ++step) {
    if (step == options_.warmup) wire_before = count_wire(star_, point.ranks);
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
  const WireCount wire_after = count_wire(star_, point.ranks);
  samples.wire_up = wire_after.up - wire_before.up;
  samples.wire_down = wire_after.down - wire_before.down;
  samples.drops = wire_after.drops - wire_before.drops;
  samples.idle_cpu = used.all > 0 ? used.idle / used.all : 1;

  const std::vector<std::string> faults = faults_of(samples);
  std::vector<std::string> doubts = doubts_about(samples);
  for (std::string& doubt : schedule.doubts()) doubts.push_back(std::move(doubt));
  if (!faults.empty()) return failure(point, fmt::format("{}", fmt::join(faults, "; ")));
  const WireBounds bounds = wire_bounds(samples);
  const LinkSpec filled = point.link.with_defaults();
  const Direction& slower = slower_direction(filled);
  const double host_steps = static_cast<double>(options_.steps) * static_cast<double>(point.ranks);
  record["status"] = doubts.empty() ? "ok" : "invalid";
  record["reasons"] = doubts;
  record["metrics"] = metrics_of(samples, trace_.elements() * sizeof(float));
  record["per_rank"] = per_rank(samples);
  record["fidelity"] = {
      {"goodput_ratio", samples.goodput_ratio},
      {"wire_bytes_predicted", bounds.least / host_steps},
      {"wire_bytes_most", bounds.most / host_steps},
      {"wire_ratio", bounds.least > 0 ? json(static_cast<double>(samples.wire_up) / bounds.least)
                                      : json(nullptr)},
      {"drops", samples.drops},
      {"idle_cpu", samples.idle_cpu},
      {"burst_bytes", slower.burst},
      {"burst_seconds", slower.burst * 8 / slower.rate}};
  if (!point.schedule.empty()) record["schedule"] = schedule.record();
  record["validation"] = {{"aggregate_max_error", samples.worst_error},
                          {"checked_steps", samples.checked_steps},
                          {"identical_ranks", samples.identical_ranks}};
  return record;
}

}  // namespace thinpipe
