#include "harness/sweep/measure.h"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/clock.h"
#include "compressors/registry.h"
#include "harness/launch/processor_time.h"
#include "harness/scale/step.h"
#include "harness/sweep/paths.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "harness/sweep/wire.h"
#include "harness/worker/feed_json.h"
#include "harness/worker/projections.h"
#include "netem/time_scale.h"
#include "netem/topology/flows.h"
#include "workloads/exchange/patterns.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {

namespace {

using nlohmann::json;

// Share of the machines' time that their processors idled during a step: of the busiest machine
// where ranks have machines of their own, else of this one.
class IdleWatch {
 public:
  explicit IdleWatch(bool own_machines) : own_machines_(own_machines) {}
  void before_step() { before_ = processor_time(); }
  void after_step(const std::vector<json>& answers) {
    const ProcessorTime after = processor_time();
    spent_.resize(own_machines_ ? answers.size() : 1);
    for (std::size_t rank = 0; rank < spent_.size(); ++rank) {
      spent_[rank].idle += own_machines_ ? answers[rank].at("processors_idle").get<double>()
                                         : after.idle - before_.idle;
      spent_[rank].all += own_machines_ ? answers[rank].at("processors_all").get<double>()
                                        : after.all - before_.all;
    }
  }
  /// Nothing where the kernel's ticks are too coarse for such short steps.
  std::optional<double> idle() const {
    constexpr double kFewestTicks = 10;  // of 10 ms, all processors together
    std::optional<double> least;
    for (const ProcessorTime& one : spent_)
      if (one.all >= kFewestTicks) least = std::min(least.value_or(1), one.idle / one.all);
    return least;
  }

 private:
  bool own_machines_;
  ProcessorTime before_;
  std::vector<ProcessorTime> spent_;
};

// s for a synthetic step to be drawn; 8 thousand million elements took a core half a minute.
constexpr double kLoadPatience = 600;

double dense_bits(const SweepPoint& point, const Trace& trace) {
  return 8.0 * sizeof(float) * static_cast<double>(trace.elements()) * point.ranks;
}

constexpr std::uint64_t kStepsWithoutExchange = 3;

// Checks cross no link; a machine in trouble is given this long.
constexpr double kCheckSeconds = 60;

// Ten times what a dense exchange takes on these links, and `more` for a machine in trouble.
double step_patience(const SweepPoint& point, const Topology& topology, const Trace& trace,
                     double compute_scale, double more) {
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
  const double compute =
      point.time_scale * point.stragglers.longest(longest_compute * compute_scale);
  return more + 10 * trouble * (exchange + waits + compute);
}

std::uint64_t whole_periods(std::uint64_t steps, std::uint64_t period) {
  return (steps + period - 1) / period * period;
}

// In which a message reaches every rank of this machine, and is read.
double start_seconds(const Launch& launch) { return 100e-6 + 50e-6 * launch.ranks(); }

std::vector<json> take_step(Launch& launch, std::uint64_t step, const ScheduleLog& schedule,
                            double bits, double patience) {
  try {
    json message = {{"do", "step"}, {"index", step}};
    // Ranks of one clock start together, not as they are told one after the other.
    if (launch.rank_machines().empty()) message["begin"] = now_seconds() + start_seconds(launch);
    return launch.ask(message, schedule.patience(bits, patience));
  } catch (const NoAnswer& error) {
    throw RunError(fmt::format("step {}: {}{}", step, error.what(), schedule.hindrance()));
  }
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

std::vector<json> field_of(const std::vector<json>& answers, const char* field) {
  std::vector<json> values;
  for (const json& answer : answers) values.push_back(answer.at(field));
  return values;
}

// Bytes a step.
std::vector<double> wire_by_rank(const PointSamples& samples) {
  std::vector<double> bytes;
  for (const std::uint64_t sent : samples.wire.sent_by)
    bytes.push_back(static_cast<double>(sent) / static_cast<double>(samples.answers.size()));
  return bytes;
}

// What comes after the workers' part is the servers'.
std::vector<json> cut_off(std::vector<json>& answers, int workers) {
  const auto servers = answers.begin() + workers;
  std::vector<json> rest(std::make_move_iterator(servers), std::make_move_iterator(answers.end()));
  answers.erase(servers, answers.end());
  return rest;
}

double error_in(const json& answer) {
  return answer.at("error").is_number() ? answer.at("error").get<double>()
                                        : std::numeric_limits<double>::infinity();
}

// The mean is held against what workers pushed, what workers ended with against the answers.
void compare_servers(const std::vector<json>& accounts, const std::vector<json>& compared,
                     const std::vector<json>& servers, PointSamples& samples) {
  for (std::size_t server = 0; server < servers.size(); ++server) {
    const json& answer = servers[server];
    double error = 0;
    if (answer.contains("projections")) {
      std::vector<json> contributions;  // that piece alone
      for (const json& account : accounts)
        contributions.push_back(json::array({account.at("projections").at(server)}));
      error = projected_error(contributions, std::vector<json>(1, answer.at("projections")),
                              std::vector<json>(1, answer.at("largest")));
    } else {
      error = error_in(answer);
    }
    samples.worst_error = std::max(samples.worst_error, error);
    for (const json& worker : compared)
      samples.servers_heard =
          samples.servers_heard && worker.at("parts").at(server) == answer.at("delta");
  }
}

void add_servers(std::vector<json> answers, const std::vector<json>& accounts, double time_scale,
                 PointSamples& samples) {
  for (std::size_t server = 0; server < answers.size(); ++server) {
    answers[server]["relative_error"] = accounts[server].at("relative_error");
    for (const char* time : {"decode", "compress"})
      answers[server][time] = answers[server].at(time).get<double>() / time_scale;
  }
  samples.servers.push_back(std::move(answers));
}

void add_comparison(const std::vector<json>& accounts, std::vector<json> compared, int workers,
                    PointSamples& samples) {
  ++samples.checked_steps;
  const std::vector<json> servers = cut_off(compared, workers);
  compare_servers(accounts, compared, servers, samples);
  const json& first = servers.empty() ? compared[0] : servers[0];
  samples.reference = first.contains("projections") ? "projections"
                      : first.contains("error")     ? "elements"
                                                    : "none";
  if (servers.empty() && compared[0].contains("projections"))
    samples.worst_error =
        std::max(samples.worst_error,
                 projected_error(field_of(accounts, "projections"),
                                 field_of(compared, "projections"), field_of(compared, "largest")));
  for (const json& answer : compared) {
    if (answer.contains("error"))
      samples.worst_error = std::max(samples.worst_error, error_in(answer));
    samples.identical_ranks =
        samples.identical_ranks && answer.at("digest") == compared[0].at("digest");
  }
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
  if (!point.stragglers.empty()) record["axes"]["stragglers"] = point.stragglers.to_string();
  return record;
}

}  // namespace

json failed_point(const SweepPoint& point, const SweepOptions& options, const std::string& reason) {
  json record = describe(point, options);
  record["status"] = "failed";
  record["reasons"] = {reason};
  return record;
}

json Meter::failure(const SweepPoint& point, const std::string& reason) const {
  return failed_point(point, options_, reason);
}

// As the kernel has them now, after the last step.
std::vector<std::string> Meter::alterations(ScheduleLog& schedule) {
  std::vector<std::string> found =
      schedule.plays() ? schedule.alterations() : machines_.alterations();
  constexpr std::size_t kMostTold = 3;  // of a network of which somebody took everything away
  if (found.size() > kMostTold) {
    const std::size_t more = found.size() - kMostTold;
    found.resize(kMostTold);
    found.back() += fmt::format("; and {} more", more);
  }
  return found;
}

json Meter::measure(const SweepPoint& point, Launch& launch, const std::function<void()>& stepped) {
  json record = describe(point, options_);
  PointSamples samples;
  samples.overlapped = point.feed.overlap != Overlap::kNone;
  samples.reference = launch.rank_machines().empty() ? "elements" : "projections";
  const std::uint32_t mtu = machines_.mtu(point.link);
  samples.frame_bytes = mtu + kEthernetHeader;
  samples.payload_bytes = mtu - kTcpHeaders;
  samples.time_scale = point.time_scale;
  const Topology planned =
      slowed(options_.topology.plan(machines_.size(), point.link), point.time_scale);
  samples.lossless = !disturbs(planned);
  const CalibratedLink* calibrated = calibrator_.find(machines_, point.link, point.time_scale);
  const WayCalibration* farthest = calibrated != nullptr ? calibrated->figures.farthest() : nullptr;
  if (farthest != nullptr && machines_.sets_links()) {
    samples.goodput_ratio = farthest->ratio();
    samples.goodput_of = farthest->where;
  }
  ScheduleLog schedule(machines_, point);
  const std::uint64_t steps = options_.warmup + options_.steps;
  json plugins = json::array();
  for (const std::filesystem::path& plugin : options_.plugins) plugins.push_back(plugin.string());
  bool loads = false;
  try {
    const auto prepared = launch.ask({{"do", "prepare"},
                                      {"trace", absolute_gradients(options_.trace)},
                                      {"plugins", plugins},
                                      {"compressor", point.compressor.to_string()},
                                      {"feed", feed_json(point.feed)},
                                      {"seed", options_.seed},
                                      {"compute_scale", options_.compute_scale},
                                      {"stragglers", point.stragglers.to_string()},
                                      {"time_scale", point.time_scale},
                                      {"non_finite", options_.zero_non_finite ? "zero" : "error"},
                                      {"pattern", point.pattern.to_string()},
                                      {"threads", options_.threads},
                                      {"simd", options_.simd},
                                      {"steps", steps}},
                                     300);
    for (std::size_t rank = 0; rank < prepared.size(); ++rank) {
      loads = loads || prepared[rank].at("loads");
      samples.period = std::max(samples.period, prepared[rank].at("period").get<std::size_t>());
      if (prepared[rank].at("trace") != trace_.identity())
        return failure(
            point, fmt::format("rank {} has another trace at {}", rank, options_.trace.string()));
    }
  } catch (const WorkerRefusal& refusal) {
    return failure(point, refusal.what());
  }
  // Delayed methods are measured over whole periods, of which each gives a sample.
  const std::uint64_t warmup = whole_periods(options_.warmup, samples.period);
  const std::uint64_t last_step = warmup + whole_periods(options_.steps, samples.period);
  const double patience =
      step_patience(point, planned, trace_, options_.compute_scale, options_.patience);
  const double check_patience = std::max(patience, kCheckSeconds);
  // The bound that hooks alone set, measured by the same ranks in the same minute.
  for (std::uint64_t step = 0; step < kStepsWithoutExchange; ++step) {
    const auto answers = launch.ask({{"do", "step"}, {"index", step}, {"moves", false}}, patience);
    double longest = 0;
    for (const json& answer : answers)
      longest = std::max(longest, answer.at("total").get<double>());
    samples.without_exchange.push_back(longest / point.time_scale);
  }
  WireCount wire_before;
  // While ranks are in their steps, not while they check.
  IdleWatch idle(!launch.rank_machines().empty());
  for (std::uint64_t step = 0; step < last_step; ++step) {
    if (step == warmup) wire_before = machines_.count_wire(point.hosts());
    if (loads) launch.ask({{"do", "load"}, {"index", step}}, kLoadPatience);
    idle.before_step();
    schedule.begin_step();
    auto answers = take_step(launch, step, schedule, dense_bits(point, trace_), patience);
    schedule.end_step(step >= warmup);
    stepped();
    if (step < warmup) continue;
    idle.after_step(answers);
    const bool check = options_.check_every > 0 && (step - warmup) % options_.check_every == 0;
    auto accounts =
        launch.ask({{"do", "account"}, {"index", step}, {"check", check}}, check_patience);
    if (point.servers() > 0) {
      auto servers = cut_off(answers, point.ranks);
      add_servers(std::move(servers), cut_off(accounts, point.ranks), point.time_scale, samples);
    }
    for (std::size_t rank = 0; rank < answers.size(); ++rank)
      answers[rank]["relative_error"] = accounts[rank].at("relative_error");
    if (point.time_scale != 1) scale_step(answers, point.time_scale);
    samples.answers.push_back(std::move(answers));
    if (check)
      add_comparison(accounts, launch.ask({{"do", "compare"}}, check_patience), point.ranks,
                     samples);
  }
  samples.wire = between(wire_before, machines_.count_wire(point.hosts()));
  samples.idle_cpu = idle.idle();

  const std::vector<std::string> faults = faults_of(samples);
  std::vector<std::string> doubts = doubts_about(samples);
  if (calibrated == nullptr && machines_.sets_links())
    doubts.push_back("the link was not calibrated: no ranks could be started for that");
  if (calibrated != nullptr && !calibrated->error.empty())
    doubts.push_back("in the calibration of the link traffic did not come through: " +
                     calibrated->error);
  for (std::string& doubt : schedule.doubts()) doubts.push_back(std::move(doubt));
  for (const std::string& altered : alterations(schedule))
    doubts.push_back("somebody changed the links meanwhile: " + altered);
  if (!faults.empty()) return failure(point, fmt::format("{}", fmt::join(faults, "; ")));
  const WireBounds bounds = wire_bounds(samples);
  const Burst burst = longest_burst(planned);
  const double host_steps =
      static_cast<double>(samples.answers.size()) * static_cast<double>(point.ranks);
  record["status"] = doubts.empty() ? "ok" : "invalid";
  record["reasons"] = doubts;
  record["metrics"] = metrics_of(samples, trace_.elements() * sizeof(float));
  record["per_rank"] = per_rank(samples);
  if (!samples.servers.empty()) record["servers"] = per_server(samples);
  record["critical_path"] =
      paths_of(samples, point, schedule, planned, launch.rank_machines().empty());
  record["timeline"] = timeline_of(samples, launch.rank_machines().empty());
  record["fidelity"] = {
      {"goodput_ratio", farthest != nullptr ? json(farthest->ratio()) : json(nullptr)},
      {"wire_bytes_predicted", bounds.least / host_steps},
      {"wire_bytes_most", bounds.most / host_steps},
      {"wire_ratio", bounds.least > 0 && samples.wire.counted
                         ? json(static_cast<double>(samples.wire.sent) / bounds.least)
                         : json(nullptr)},
      {"drops", samples.wire.drops},
      {"idle_cpu", samples.idle_cpu ? json(*samples.idle_cpu) : json(nullptr)},
      {"burst_bytes", burst.bytes},
      {"burst_seconds", burst.seconds / point.time_scale}};
  if (samples.wire.counted) record["fidelity"]["wire_bytes_by_rank"] = wire_by_rank(samples);
  if (point.time_scale != 1) record["raw"] = raw_times(samples.answers);
  if (!point.schedule.empty()) record["schedule"] = schedule.record();
  if (!samples.wire.trunks.empty()) record["trunks"] = trunks_json(samples.wire);
  record["validation"] = {{"aggregate_max_error", samples.worst_error},
                          {"checked_steps", samples.checked_steps},
                          {"identical_ranks", samples.identical_ranks},
                          {"reference", samples.reference}};
  return record;
}

}  // namespace thinpipe
