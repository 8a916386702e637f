#include "harness/sweep/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "harness/sweep/time_scaling.h"
#include "harness/worker/bucketing_json.h"
#include "netem/topology/flows.h"
#include "netem/topology/time_scale.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// Limit in seconds for drawing the gradients of a synthetic step. One core took half a minute for 8
// thousand million elements.
constexpr double kLoadTimeout = 600;

constexpr std::uint64_t kStepsWithoutExchange = 3;

// s in which a check must end, even on an overloaded machine; checks cross no link.
constexpr double kCheckSeconds = 60;

std::uint64_t whole_periods(std::uint64_t steps, std::uint64_t period) {
  return (steps + period - 1) / period * period;
}

// Fills the samples of one point, whose links are set: has the ranks prepare, step, and report
// their results.
class PointRun {
 public:
  /// @param planned  the network as it was set
  PointRun(const SweepPoint& point, const SweepOptions& options, const Trace& trace,
           const Topology& planned, Machines& machines, Launch& launch, PointSamples& samples)
      : point_(point),
        options_(options),
        trace_(trace),
        machines_(machines),
        launch_(launch),
        samples_(samples),
        timeout_(step_timeout(point, planned, trace, options.compute_scale, options.timeout)),
        check_timeout_(std::max(timeout_, kCheckSeconds)) {}

  /// Has every rank read the point and make its compressors and collective.
  /// @throws WorkerRefusal when a rank cannot, or has a different trace.
  void prepare() {
    json message = prepare_message(point_, options_);
    message["trace"] = absolute_gradients(options_.trace);
    const auto prepared = launch_.ask(message, kPrepareTimeout);
    for (std::size_t rank = 0; rank < prepared.size(); ++rank) {
      loads_ = loads_ || prepared[rank].at("loads");
      samples_.period = std::max(samples_.period, prepared[rank].at("period").get<std::size_t>());
      if (prepared[rank].at("trace") != trace_.identity())
        throw WorkerRefusal(fmt::format("{} has a different trace at {}", launch_.rank_name(rank),
                                        options_.trace.string()));
    }
  }

  /// Measures steps without any exchange: the lower bound of a step's time, on the same ranks in
  /// the same minute.
  void step_without_exchange() {
    for (std::uint64_t step = 0; step < kStepsWithoutExchange; ++step) {
      const StepAnswers answers =
          ask_for_step({{"do", "step"}, {"index", step}, {"moves", false}}, timeout_);
      double longest = 0;
      for (const WorkerStep& worker : answers.workers) longest = std::max(longest, worker.total);
      samples_.without_exchange.push_back(longest / point_.time_scale);
    }
  }

  /// Takes the warm-up steps and the measured steps. Calls `stepped` after each.
  /// @throws RunError when a step does not end.
  void take_steps(ScheduleLog& schedule, const std::function<void()>& stepped) {
    // Delayed methods are measured over whole periods; each period is one sample.
    const std::uint64_t warmup = whole_periods(options_.warmup, samples_.period);
    const std::uint64_t last = warmup + whole_periods(options_.steps, samples_.period);
    WireCount wire_before;
    // Counts while ranks step, not while they check.
    IdleWatch idle(!launch_.rank_machines().empty());
    for (std::uint64_t step = 0; step < last; ++step) {
      if (step == warmup) wire_before = machines_.count_wire(point_.hosts());
      if (loads_) launch_.ask({{"do", "load"}, {"index", step}}, kLoadTimeout);
      idle.before_step();
      schedule.begin_step();
      StepAnswers answers = take_step(step, schedule);
      schedule.end_step(step >= warmup);
      stepped();
      if (step < warmup) continue;
      idle.after_step(answers);
      const std::uint64_t period = (step - warmup) / samples_.period;
      keep_step(step, std::move(answers),
                options_.check_every > 0 && period % options_.check_every == 0);
    }
    samples_.wire = between(wire_before, machines_.count_wire(point_.hosts()));
    samples_.idle_cpu = idle.idle();
  }

 private:
  StepAnswers ask_for_step(const json& message, double seconds) {
    return step_answers(launch_.ask(message, seconds), point_.ranks);
  }

  StepAnswers take_step(std::uint64_t step, const ScheduleLog& schedule) {
    try {
      json message = {{"do", "step"}, {"index", step}};
      // Ranks that share a clock start at the same moment, although their messages go out in turn.
      if (launch_.rank_machines().empty())
        message["begin"] = now_seconds() + start_seconds(launch_);
      return ask_for_step(message, schedule.timeout(dense_bits(point_, trace_), timeout_));
    } catch (const NoAnswer& error) {
      const std::string cause = schedule.hindrance();
      throw RunError(fmt::format("step {}: {}{}", step, error.what(),
                                 cause.empty() ? " (see --timeout)" : cause));
    }
  }

  void keep_step(std::uint64_t step, StepAnswers answers, bool check) {
    const auto accounts =
        launch_.ask({{"do", "account"}, {"index", step}, {"check", check}}, check_timeout_);
    add_accounts(accounts, answers);
    if (point_.time_scale != 1) scale_step(answers, point_.time_scale, samples_.overlapped);
    samples_.steps.push_back(std::move(answers));
    if (check)
      add_comparison(accounts, launch_.ask({{"do", "compare"}}, check_timeout_), point_.ranks,
                     samples_);
  }

  const SweepPoint& point_;
  const SweepOptions& options_;
  const Trace& trace_;
  Machines& machines_;
  Launch& launch_;
  PointSamples& samples_;
  double timeout_, check_timeout_;  // s
  bool loads_ = false;              // gradients are drawn before each step
};

// Returns the differences between the links as set and as the kernel has them after the last step.
std::vector<std::string> drift(Machines& machines, ScheduleLog& schedule) {
  std::vector<std::string> found = schedule.plays() ? schedule.drift() : machines.drift();
  constexpr std::size_t kMaxListed = 3;  // another program may have removed the whole network
  if (found.size() > kMaxListed) {
    const std::size_t more = found.size() - kMaxListed;
    found.resize(kMaxListed);
    found.back() += fmt::format("; and {} more", more);
  }
  return found;
}

}  // namespace

void IdleWatch::after_step(const StepAnswers& step) {
  const auto spend = [this](std::size_t machine, const ProcessorTime& time) {
    if (spent_.size() <= machine) spent_.resize(machine + 1);
    spent_[machine].idle += time.idle;
    spent_[machine].all += time.all;
  };
  if (!own_machines_) return spend(0, processor_time() - before_);
  std::size_t machine = 0;
  for (const WorkerStep& worker : step.workers) spend(machine++, worker.processors);
  for (const ServerStep& server : step.servers) spend(machine++, server.processors);
}

std::optional<double> IdleWatch::idle() const {
  std::optional<double> least;
  for (const ProcessorTime& one : spent_)
    if (const std::optional<double> share = one.idle_share())
      least = std::min(least.value_or(1), *share);
  return least;
}

void set_goodput(const CalibratedLink* calibrated, PointSamples& samples) {
  const WayCalibration* farthest = calibrated != nullptr ? calibrated->figures.farthest() : nullptr;
  if (farthest == nullptr) return;
  samples.goodput_ratio = farthest->ratio();
  samples.goodput_of = farthest->where;
}

std::vector<std::string> link_warnings(const CalibratedLink* calibrated, Machines& machines,
                                       ScheduleLog& schedule) {
  std::vector<std::string> warnings;
  if (calibrated == nullptr && machines.sets_links())
    warnings.push_back("the link was not calibrated, because no ranks could be started for that");
  if (calibrated != nullptr && !calibrated->error.empty())
    warnings.push_back("no traffic passed the link in the calibration: " + calibrated->error);
  for (std::string& warning : schedule.warnings()) warnings.push_back(std::move(warning));
  for (const std::string& changed : drift(machines, schedule))
    warnings.push_back("another program changed the links during the measurement: " + changed);
  return warnings;
}

double start_seconds(const Launch& launch) { return 100e-6 + 50e-6 * launch.ranks(); }

json prepare_message(const SweepPoint& point, const SweepOptions& options) {
  json plugins = json::array();
  for (const std::filesystem::path& plugin : options.plugins) plugins.push_back(plugin.string());
  return {{"do", "prepare"},
          {"plugins", plugins},
          {"compressor", point.compressor.to_string()},
          {"bucketing", bucketing_json(point.bucketing)},
          {"seed", options.seed},
          {"compute_scale", options.compute_scale},
          {"compute_works", options.compute_works},
          {"stragglers", point.stragglers.to_string()},
          {"time_scale", point.time_scale},
          {"non_finite", options.zero_non_finite ? "zero" : "error"},
          {"collective", point.collective.to_string()},
          {"threads", options.threads},
          {"simd", options.simd},
          {"device", options.device},
          {"steps", options.warmup + options.steps}};
}

Topology Meter::network_of(const SweepPoint& point, const Launch& launch) const {
  Topology planned = options_.topology.plan(machines_.size(), point.link);
  if (machines_.network() == nullptr) {  // thinpipe sets the MTU of emulated links alone
    const std::uint32_t mtu = machines_.mtu(point.link, &launch);
    for (int i = 0; i < planned.links(); ++i) planned.link(i).mtu = mtu;
  }
  return slowed(planned, point.time_scale);
}

PointSamples Meter::no_samples(const SweepPoint& point, const Topology& planned,
                               const CalibratedLink* calibrated, const Launch& launch) const {
  PointSamples samples;
  samples.on_device = options_.device != kDeviceCpu;
  samples.overlapped = point.bucketing.overlaps();
  samples.compute_works = options_.compute_works;
  samples.reference = launch.rank_machines().empty() ? "elements" : "projections";
  const std::uint32_t mtu = machines_.mtu(point.link, &launch);
  samples.frame_bytes = mtu + kEthernetHeader;
  samples.payload_bytes = mtu - kTcpHeaders;
  samples.time_scale = point.time_scale;
  samples.lossless = !disturbs(planned);
  if (machines_.sets_links()) set_goodput(calibrated, samples);
  return samples;
}

std::vector<std::string> Meter::warnings(const PointSamples& samples,
                                         const CalibratedLink* calibrated,
                                         ScheduleLog& schedule) const {
  std::vector<std::string> warnings = warnings_about(samples);
  for (std::string& warning : link_warnings(calibrated, machines_, schedule))
    warnings.push_back(std::move(warning));
  return warnings;
}

Point Meter::measure(const SweepPoint& planned, Launch& launch,
                     const std::function<void()>& stepped) {
  Point point = describe(planned, options_);
  const Topology network = network_of(planned, launch);
  const CalibratedLink* calibrated = calibrator_.find(machines_, planned.link, planned.time_scale);
  PointSamples samples = no_samples(planned, network, calibrated, launch);
  ScheduleLog schedule(machines_, planned);  // sets the links
  PointRun run(planned, options_, trace_, network, machines_, launch, samples);
  try {
    run.prepare();
  } catch (const WorkerRefusal& refusal) {
    return failed_point(planned, options_, refusal.what());
  }
  run.step_without_exchange();
  run.take_steps(schedule, stepped);

  const std::vector<std::string> errors = errors_of(samples);
  point.reasons = warnings(samples, calibrated, schedule);
  if (!errors.empty())
    return failed_point(planned, options_, fmt::format("{}", fmt::join(errors, "; ")));
  point.status = point.reasons.empty() ? Status::kOk : Status::kInvalid;
  add_measured(samples, planned, {network, schedule, calibrated, launch.rank_machines().empty()},
               trace_.elements() * sizeof(float), point);
  return point;
}

}  // namespace thinpipe
