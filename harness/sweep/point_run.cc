#include "harness/sweep/point_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "harness/scale/step.h"
#include "harness/sweep/comparison.h"
#include "harness/sweep/patience.h"
#include "harness/sweep/server_answers.h"
#include "harness/worker/feed_json.h"
#include "workloads/synthetic/synthetic.h"

namespace thinpipe {

using nlohmann::json;

namespace {

// s for a synthetic step to be drawn; 8 thousand million elements took a core half a minute.
constexpr double kLoadPatience = 600;

constexpr std::uint64_t kStepsWithoutExchange = 3;

// Checks cross no link; a machine in trouble is given this long.
constexpr double kCheckSeconds = 60;

std::uint64_t whole_periods(std::uint64_t steps, std::uint64_t period) {
  return (steps + period - 1) / period * period;
}

}  // namespace

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
    const auto answers =
        launch_.ask({{"do", "step"}, {"index", step}, {"moves", false}}, patience_);
    double longest = 0;
    for (const json& answer : answers)
      longest = std::max(longest, answer.at("total").get<double>());
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
    auto answers = take_step(step, schedule);
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

std::vector<json> PointRun::take_step(std::uint64_t step, const ScheduleLog& schedule) {
  try {
    json message = {{"do", "step"}, {"index", step}};
    // Ranks of one clock start together, not as they are told one after the other.
    if (launch_.rank_machines().empty()) message["begin"] = now_seconds() + start_seconds(launch_);
    return launch_.ask(message, schedule.patience(dense_bits(point_, trace_), patience_));
  } catch (const NoAnswer& error) {
    throw RunError(fmt::format("step {}: {}{}", step, error.what(), schedule.hindrance()));
  }
}

void PointRun::keep_step(std::uint64_t step, std::vector<json> answers, bool check) {
  auto accounts =
      launch_.ask({{"do", "account"}, {"index", step}, {"check", check}}, check_patience_);
  if (point_.servers() > 0) {
    auto servers = cut_off(answers, point_.ranks);
    add_servers(std::move(servers), cut_off(accounts, point_.ranks), point_.time_scale, samples_);
  }
  for (std::size_t rank = 0; rank < answers.size(); ++rank) {
    answers[rank]["relative_error"] = accounts[rank].at("relative_error");
    if (accounts[rank].contains("served"))
      answers[rank]["second_relative_error"] = accounts[rank].at("served").at("relative_error");
  }
  if (point_.time_scale != 1)
    (samples_.overlapped ? scale_overlapped_step : scale_step)(answers, point_.time_scale);
  samples_.answers.push_back(std::move(answers));
  if (check)
    add_comparison(accounts, launch_.ask({{"do", "compare"}}, check_patience_), point_.ranks,
                   samples_);
}

}  // namespace thinpipe
