#include "harness/sweep/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.h"
#include "harness/sweep/comparison.h"
#include "harness/sweep/records.h"
#include "harness/sweep/time_scaling.h"
#include "harness/worker/feed_json.h"
#include "netem/topology/flows.h"
#include "netem/topology/time_scale.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {
namespace {

using nlohmann::json;

// s for a synthetic step to be drawn; 8 thousand million elements took a core half a minute.
constexpr double kLoadPatience = 600;

constexpr std::uint64_t kStepsWithoutExchange = 3;

// Checks cross no link; a machine in trouble is given this long.
constexpr double kCheckSeconds = 60;

std::uint64_t whole_periods(std::uint64_t steps, std::uint64_t period) {
  return (steps + period - 1) / period * period;
}

// The conversation in which the ranks get ready, step, and tell what they ended with: fills the
// samples of one point, whose links are set.
class PointRun {
 public:
  /// @param planned  the network as it was set
  PointRun(const SweepPoint& point, const SweepOptions& options, const Trace& trace,
           const Topology& planned, Machines& machines, Launch& launch, PointSamples& samples);

  /// Every rank reads the point and makes its compressors and pattern.
  /// @throws WorkerRefusal when one cannot, or has another trace.
  void prepare();
  /// Steps of hooks that do nothing: the bound that they set, measured by the same ranks in the
  /// same minute.
  void step_without_exchange();
  /// The steps to warm up and the measured ones. `stepped` is told of each.
  /// @throws RunError when one does not end.
  void take_steps(ScheduleLog& schedule, const std::function<void()>& stepped);

 private:
  StepAnswers ask_for_step(const json& message, double seconds);
  StepAnswers take_step(std::uint64_t step, const ScheduleLog& schedule);
  void keep_step(std::uint64_t step, StepAnswers answers, bool check);

  const SweepPoint& point_;
  const SweepOptions& options_;
  const Trace& trace_;
  Machines& machines_;
  Launch& launch_;
  PointSamples& samples_;
  double patience_, check_patience_;  // s
  bool loads_ = false;                // gradients are drawn before each step
};

PointRun::PointRun(const SweepPoint& point, const SweepOptions& options, const Trace& trace,
                   const Topology& planned, Machines& machines, Launch& launch,
                   PointSamples& samples)
    : point_(point),
      options_(options),
      trace_(trace),
      machines_(machines),
      launch_(launch),
      samples_(samples),
      patience_(step_patience(point, planned, trace, options.compute_scale, options.patience)),
      check_patience_(std::max(patience_, kCheckSeconds)) {}

void PointRun::prepare() {
  json message = prepare_message(point_, options_);
  message["trace"] = absolute_gradients(options_.trace);
  const auto prepared = launch_.ask(message, kPreparePatience);
  for (std::size_t rank = 0; rank < prepared.size(); ++rank) {
    loads_ = loads_ || prepared[rank].at("loads");
    samples_.period = std::max(samples_.period, prepared[rank].at("period").get<std::size_t>());
    if (prepared[rank].at("trace") != trace_.identity())
      throw WorkerRefusal(
          fmt::format("rank {} has another trace at {}", rank, options_.trace.string()));
  }
}

void PointRun::step_without_exchange() {
  for (std::uint64_t step = 0; step < kStepsWithoutExchange; ++step) {
    const StepAnswers answers =
        ask_for_step({{"do", "step"}, {"index", step}, {"moves", false}}, patience_);
    double longest = 0;
    for (const WorkerStep& worker : answers.workers) longest = std::max(longest, worker.total);
    samples_.without_exchange.push_back(longest / point_.time_scale);
  }
}

void PointRun::take_steps(ScheduleLog& schedule, const std::function<void()>& stepped) {
  // Delayed methods are measured over whole periods, of which each gives a sample.
  const std::uint64_t warmup = whole_periods(options_.warmup, samples_.period);
  const std::uint64_t last = warmup + whole_periods(options_.steps, samples_.period);
  WireCount wire_before;
  // While ranks are in their steps, not while they check.
  IdleWatch idle(!launch_.rank_machines().empty());
  for (std::uint64_t step = 0; step < last; ++step) {
    if (step == warmup) wire_before = machines_.count_wire(point_.hosts());
    if (loads_) launch_.ask({{"do", "load"}, {"index", step}}, kLoadPatience);
    idle.before_step();
    schedule.begin_step();
    StepAnswers answers = take_step(step, schedule);
    schedule.end_step(step >= warmup);
    stepped();
    if (step < warmup) continue;
    idle.after_step(answers);
    keep_step(step, std::move(answers),
              options_.check_every > 0 && (step - warmup) % options_.check_every == 0);
  }
  samples_.wire = between(wire_before, machines_.count_wire(point_.hosts()));
  samples_.idle_cpu = idle.idle();
}

StepAnswers PointRun::ask_for_step(const json& message, double seconds) {
  return step_answers(launch_.ask(message, seconds), point_.ranks);
}

StepAnswers PointRun::take_step(std::uint64_t step, const ScheduleLog& schedule) {
  try {
    json message = {{"do", "step"}, {"index", step}};
    // Ranks of one clock start together, not as they are told one after the other.
    if (launch_.rank_machines().empty()) message["begin"] = now_seconds() + start_seconds(launch_);
    return ask_for_step(message, schedule.patience(dense_bits(point_, trace_), patience_));
  } catch (const NoAnswer& error) {
    throw RunError(fmt::format("step {}: {}{}", step, error.what(), schedule.hindrance()));
  }
}

void PointRun::keep_step(std::uint64_t step, StepAnswers answers, bool check) {
  const auto accounts =
      launch_.ask({{"do", "account"}, {"index", step}, {"check", check}}, check_patience_);
  add_accounts(accounts, answers);
  if (point_.time_scale != 1) scale_step(answers, point_.time_scale, samples_.overlapped);
  samples_.steps.push_back(std::move(answers));
  if (check)
    add_comparison(accounts, launch_.ask({{"do", "compare"}}, check_patience_), point_.ranks,
                   samples_);
}

// As the kernel has them now, after the last step.
std::vector<std::string> alterations(Machines& machines, ScheduleLog& schedule) {
  std::vector<std::string> found =
      schedule.plays() ? schedule.alterations() : machines.alterations();
  constexpr std::size_t kMostTold = 3;  // of a network of which somebody took everything away
  if (found.size() > kMostTold) {
    const std::size_t more = found.size() - kMostTold;
    found.resize(kMostTold);
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

double start_seconds(const Launch& launch) { return 100e-6 + 50e-6 * launch.ranks(); }

json prepare_message(const SweepPoint& point, const SweepOptions& options) {
  json plugins = json::array();
  for (const std::filesystem::path& plugin : options.plugins) plugins.push_back(plugin.string());
  return {{"do", "prepare"},
          {"plugins", plugins},
          {"compressor", point.compressor.to_string()},
          {"feed", feed_json(point.feed)},
          {"seed", options.seed},
          {"compute_scale", options.compute_scale},
          {"stragglers", point.stragglers.to_string()},
          {"time_scale", point.time_scale},
          {"non_finite", options.zero_non_finite ? "zero" : "error"},
          {"pattern", point.pattern.to_string()},
          {"threads", options.threads},
          {"simd", options.simd},
          {"device", options.device},
          {"steps", options.warmup + options.steps}};
}

PointSamples Meter::no_samples(const SweepPoint& point, const Topology& planned,
                               const CalibratedLink* calibrated, const Launch& launch) const {
  PointSamples samples;
  samples.on_device = options_.device != kDeviceCpu;
  samples.overlapped = point.feed.overlap != Overlap::kNone;
  samples.reference = launch.rank_machines().empty() ? "elements" : "projections";
  const std::uint32_t mtu = machines_.mtu(point.link);
  samples.frame_bytes = mtu + kEthernetHeader;
  samples.payload_bytes = mtu - kTcpHeaders;
  samples.time_scale = point.time_scale;
  samples.lossless = !disturbs(planned);
  const WayCalibration* farthest = calibrated != nullptr ? calibrated->figures.farthest() : nullptr;
  if (farthest != nullptr && machines_.sets_links()) {
    samples.goodput_ratio = farthest->ratio();
    samples.goodput_of = farthest->where;
  }
  return samples;
}

std::vector<std::string> Meter::doubts(const PointSamples& samples,
                                       const CalibratedLink* calibrated,
                                       ScheduleLog& schedule) const {
  std::vector<std::string> doubts = doubts_about(samples);
  if (calibrated == nullptr && machines_.sets_links())
    doubts.push_back("the link was not calibrated: no ranks could be started for that");
  if (calibrated != nullptr && !calibrated->error.empty())
    doubts.push_back("in the calibration of the link traffic did not come through: " +
                     calibrated->error);
  for (std::string& doubt : schedule.doubts()) doubts.push_back(std::move(doubt));
  for (const std::string& altered : alterations(machines_, schedule))
    doubts.push_back("somebody changed the links meanwhile: " + altered);
  return doubts;
}

Point Meter::measure(const SweepPoint& planned, Launch& launch,
                     const std::function<void()>& stepped) {
  Point point = describe(planned, options_);
  const Topology network =
      slowed(options_.topology.plan(machines_.size(), planned.link), planned.time_scale);
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

  const std::vector<std::string> faults = faults_of(samples);
  point.reasons = doubts(samples, calibrated, schedule);
  if (!faults.empty())
    return failed_point(planned, options_, fmt::format("{}", fmt::join(faults, "; ")));
  point.status = point.reasons.empty() ? Status::kOk : Status::kInvalid;
  add_measured(samples, planned, {network, schedule, calibrated, launch.rank_machines().empty()},
               trace_.elements() * sizeof(float), point);
  return point;
}

}  // namespace thinpipe
